"""The end of a process whose group has lost another one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from gradstream.group.peers import MachineLost, PeerHung, PeerLost
from gradstream.process.exits import Ending, ExitReason

CAUSE_WITHIN = 30.0
"""Seconds for which a process waits after another machine was lost. The control plane learns meanwhile how the processes there
ended, and ends this one, so that theirs is the reason that counts."""


@contextmanager
def group_ends_explained(ending: Ending) -> Iterator[None]:
    """Set the end of this process if a process of its group is lost inside."""
    try:
        yield
    except PeerHung as error:
        ending.set(ExitReason.HUNG, str(error))
    except PeerLost as error:
        if isinstance(error, MachineLost):
            time.sleep(CAUSE_WITHIN)
        ending.set(ExitReason.PEER_LOST, str(error))

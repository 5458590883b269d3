"""The end of a process that has lost another one of its group."""

from __future__ import annotations

import time

import pytest

from gradstream.group.peers import MachineLost, PeerHung, PeerLost
from gradstream.process.exits import Ending, ExitReason
from worker_node.group import ends
from worker_node.group.ends import group_ends_explained


@pytest.mark.parametrize(
    ("lost", "reason"),
    [(PeerLost("gone"), ExitReason.PEER_LOST), (PeerHung("hung"), ExitReason.HUNG), (MachineLost("broke"), ExitReason.PEER_LOST)],
    ids=str,
)
def test_a_lost_process_is_the_reason_and_a_lost_machine_is_waited_for(
    lost: PeerLost, reason: ExitReason, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control plane ends this process meanwhile, for the reason of the other machine."""
    monkeypatch.setattr(ends, "CAUSE_WITHIN", 0.3)
    ending, began = Ending(), time.monotonic()
    with group_ends_explained(ending):
        raise lost
    assert (ending.reason, ending.message) == (reason, str(lost))
    assert not isinstance(lost, MachineLost) or time.monotonic() - began >= 0.3

"""Gloo on the CPU in the place of NCCL on GPUs, so that tests have all the code around the calls of NCCL."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from torch._C._distributed_c10d import PrefixStore, ProcessGroupGloo, Store, Work

from gradstream.wire.gpu.vector_group import LONGEST_WAIT, VectorGroup, VectorGroupError

_CONNECT_TIMEOUT = timedelta(seconds=60)
_Gloo: Any = ProcessGroupGloo
"""Torch's stubs lack much of it."""
_made: list[Any] = []
"""Groups that are not closed. To free one would wait for sums that may never end."""


class GlooTwin(VectorGroup):
    def __init__(self, store: Store, rank: int, count: int) -> None:
        """Wait until every process has come. They are on one machine. Raises: VectorGroupError; and all that the store raises."""
        options = _Gloo._Options()
        options._timeout, options._devices = _CONNECT_TIMEOUT, [_Gloo.create_device(hostname="127.0.0.1")]
        try:
            self._group = _Gloo(PrefixStore("twin", store), rank, count, options)
        except RuntimeError as error:
            raise VectorGroupError(str(error)) from error
        self._group._set_default_timeout(LONGEST_WAIT)
        _made.append(self._group)

    def finish(self, work: Work, look: Callable[[float], None], look_interval: float) -> None:
        began = time.monotonic()
        while True:
            over = work.is_completed()
            try:
                work.wait(timedelta(seconds=look_interval))
                return
            except RuntimeError as error:  # too long, or its own
                if over:
                    raise VectorGroupError(str(error)) from error
            look(time.monotonic() - began)

    def close(self) -> None:
        _made.remove(self._group)
        del self._group

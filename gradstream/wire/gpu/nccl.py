"""NCCL adds up and copies vectors on the GPUs of several processes. Each has a GPU of its own: NCCL refuses two on one.

NCCL does not survive a lost process: its kernels wait for that one until their own process ends. So no wait here is a wait of CUDA.
The host looks at an event, and says now and then how long it has waited; the caller knows when to give up.

Source: NCCL's issue 418 (two processes on one GPU).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch._C._distributed_c10d import PrefixStore, Store, Work

from gradstream.wire.gpu.vector_group import LONGEST_WAIT, VectorGroup, VectorGroupError

log = logging.getLogger(__name__)

_POLL_INTERVAL = 0.0001
"""Seconds between two looks at what the GPU has done."""
_CLOSING = 10.0
"""Seconds for closing, in which no other process is waited for."""
_ENVIRONMENT = {
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0",  # else torch ends the process when NCCL fails, and no cause is reported
    "TORCH_NCCL_BLOCKING_WAIT": "0",  # else a wait blocks the host
    "TORCH_NCCL_ENABLE_MONITORING": "0",  # else a thread of torch reads the store, and may end the process
}
"""Torch reads these when it makes a process group, and has no other interface for them."""


class NcclGroup(VectorGroup):
    """Its vectors lie on one GPU of each process."""

    def __init__(self, store: Store, rank: int, count: int, device: torch.device) -> None:
        """Wait until every process has come. This is a wait of CUDA: call it in a thread. `store`: NCCL's address lies there.

        Raises: VectorGroupError; and all that the store raises."""
        self._group = _make_group(store, rank, count)
        try:
            self._group.allreduce([torch.zeros(1, device=device)]).wait()  # NCCL connects with the first sum
            torch.cuda.synchronize(device)
        except RuntimeError as error:
            raise VectorGroupError(str(error)) from error
        self._waiting = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        """A stream that does nothing but wait."""

    def finish(self, work: Work, look: Callable[[float], None], look_interval: float) -> None:
        began = looked = time.monotonic()
        with torch.cuda.stream(self._waiting):
            work.wait()  # this stream waits, and not the host
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record(self._waiting)
        was_over = False
        while not done.query():  # type: ignore[no-untyped-call]
            time.sleep(_POLL_INTERVAL)
            if time.monotonic() - looked > look_interval:
                looked = time.monotonic()
                if was_over:
                    raise VectorGroupError("NCCL has failed; its log says why (NCCL_DEBUG: WARN in the job file's env)")
                was_over = work.is_completed()  # true also of one that has failed, whose kernel goes on
                look(looked - began)
        work.wait()  # what this thread orders from now on comes after it

    def close(self) -> None:
        """Disconnect, when all that was begun is done."""
        closing = threading.Thread(target=self._group.shutdown, name="closing NCCL", daemon=True)
        closing.start()
        closing.join(_CLOSING)
        if closing.is_alive():
            log.warning("NCCL has not disconnected in %.0f s; this process ends without that", _CLOSING)


_made: list[Any] = []
"""All process groups that were made, with their stores. None is freed: that would wait for sums that may never end."""


def _make_group(store: Store, rank: int, count: int) -> Any:
    try:
        from torch._C._distributed_c10d import ProcessGroupNCCL
    except ImportError:
        raise VectorGroupError("this machine's torch comes without NCCL") from None
    os.environ.update(_ENVIRONMENT)
    options, prefixed = ProcessGroupNCCL.Options(), PrefixStore("nccl", store)
    options._timeout = LONGEST_WAIT
    try:
        group = ProcessGroupNCCL(prefixed, rank, count, options)
    except RuntimeError as error:
        raise VectorGroupError(str(error)) from error
    _made.append((group, prefixed, store))
    return group

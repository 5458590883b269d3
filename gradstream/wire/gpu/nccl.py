"""Vectors on GPUs, which several processes add up or copy by NCCL. Each process has a GPU of its own: NCCL refuses two on one.

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
from datetime import timedelta
from typing import Any

import torch
from torch._C._distributed_c10d import PrefixStore, Store, Work

log = logging.getLogger(__name__)

LONGEST_WAIT = timedelta(days=30)
"""NCCL's own bound of a wait for another process, whose mini-batch may take as long."""
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


class NcclError(RuntimeError):
    """NCCL cannot connect the processes, or has lost a connection."""


class NcclGroup:
    """All processes call its methods in the same order. Its vectors lie on `device`."""

    def __init__(self, store: Store, rank: int, count: int, device: torch.device) -> None:
        """Wait until every process has come, in a wait of CUDA: call it in a thread. `store`: NCCL's address lies there.

        Raises: NcclError; and all that the store raises."""
        self._device, self._group = device, _make_group(store, rank, count)
        try:
            self._group.allreduce([torch.zeros(1, device=device)]).wait()  # NCCL connects with the first sum
            torch.cuda.synchronize(device)
        except RuntimeError as error:
            raise NcclError(str(error)) from error

    def begin(self, begin: Callable[[Any], Work]) -> Work:
        """Begin a collective operation, which `finish` ends. `begin` gets torch's process group. Raises: NcclError."""
        try:
            return begin(self._group)
        except RuntimeError as error:
            raise NcclError(str(error)) from error

    def finish(self, work: Work, look: Callable[[float], None], look_interval: float) -> None:
        """Wait until this is done, and all that this thread has ordered of the GPU. `look(seconds)` is called once in each
        interval, with the time waited so far, and raises where the wait is over. Raises: NcclError; and what `look` raises."""
        began = looked = time.monotonic()
        work.wait()  # what this thread orders from now on comes after it; the host waits for nothing
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record(torch.cuda.current_stream(self._device))
        while not done.query():  # type: ignore[no-untyped-call]
            time.sleep(_POLL_INTERVAL)
            if time.monotonic() - looked > look_interval:
                looked = time.monotonic()
                self._check()
                look(looked - began)

    def _check(self) -> None:
        if (state := self._group.get_error()).name != "SUCCESS":
            raise NcclError(f"NCCL has failed: {state.name}")

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
        raise NcclError("this machine's torch comes without NCCL") from None
    os.environ.update(_ENVIRONMENT)
    options, prefixed = ProcessGroupNCCL.Options(), PrefixStore("nccl", store)
    options._timeout = LONGEST_WAIT
    try:
        group = ProcessGroupNCCL(prefixed, rank, count, options)
    except RuntimeError as error:
        raise NcclError(str(error)) from error
    _made.append((group, prefixed, store))
    return group

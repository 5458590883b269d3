"""A job process as a client of MPS: its bounds, and an end that leaves the other clients alone.

A client that ends while its kernels run may end the others on its GPU."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from gradstream.process.order import ProcessOrder

PIPES = "CUDA_MPS_PIPE_DIRECTORY"


def environment(order: ProcessOrder) -> dict[str, str]:
    """Return the variables that make the order's process a client; empty: it is none."""
    if order.mps is None:
        return {}
    memory = ",".join(f"{number}={nbytes // 2**20}M" for number, nbytes in enumerate(order.mps.memory))
    return {
        PIPES: order.mps.pipes,
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": f"{100 / order.gpu_share:.3g}",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": memory,
    }


def join_mps(order: ProcessOrder) -> None:
    """Make this process a client, if its order says so. After SIGTERM it ends when its kernels have."""
    if order.mps is not None:
        os.environ.update(environment(order))
        signal.signal(signal.SIGTERM, _end_after_kernels)


def finish_kernels() -> None:
    """If this process is a client that uses GPUs, wait until they have done all that it ordered. The agent bounds the wait."""
    torch: Any = sys.modules.get("torch")
    if os.environ.get(PIPES) and torch is not None and torch.cuda.is_initialized():
        for number in range(torch.cuda.device_count()):
            torch.cuda.synchronize(number)


def _end_after_kernels(*_: object) -> None:
    try:
        finish_kernels()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

"""The GPUs that an order names: whether torch can use them, and how much of their memory the process may take."""

from __future__ import annotations

from collections.abc import Callable

from gradstream.process.order import ProcessOrder


def check_gpus(order: ProcessOrder) -> None:
    """Raises: RuntimeError: torch cannot use the GPUs of this order. The text says so, before user code is blamed for it."""
    import torch

    if order.gpus and not torch.cuda.is_available():
        role = "server" if order.role == "server" else "worker"
        named = ", ".join(map(str, order.visible_gpus))
        raise RuntimeError(f"roles.{role}.device: torch cannot use GPU {named} of this node; repair CUDA there, or set it to cpu")


def limit_gpu_memory(share: int, device: int = 0) -> None:
    """Keep this process to 1/share of the memory of `cuda:<device>` as soon as it uses CUDA, which is not initialized here. The
    same holds for a process that it forks before then."""
    import torch

    if share > 1:  # torch has no public call for "when CUDA is initialized"; tests/unit/agent/test_gpu_shares.py watches this one
        when_initialized: Callable[[Callable[[], None]], None] = torch.cuda._lazy_call
        when_initialized(lambda: torch.cuda.set_per_process_memory_fraction(1 / share, device))

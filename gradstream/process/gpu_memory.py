"""The limit of a process's memory on a GPU that it shares with others."""

from __future__ import annotations

from collections.abc import Callable


def limit_gpu_memory(share: int, device: int = 0) -> None:
    """Keep this process to 1/share of the memory of `cuda:<device>` as soon as it uses CUDA, which is not initialized here. The
    same holds for a process that it forks before then."""
    import torch

    if share > 1:  # torch has no public call for "when CUDA is initialized"; tests/unit/agent/test_gpu_shares.py watches this one
        when_initialized: Callable[[Callable[[], None]], None] = torch.cuda._lazy_call
        when_initialized(lambda: torch.cuda.set_per_process_memory_fraction(1 / share, device))

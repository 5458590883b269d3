"""Gradients on their way from a device to the host's memory, while the device goes on with backward.

    bucket complete    its gradients  ->  pinned memory, in a stream beside the one that computes
    its turn           wait for the copy, and add it in the host's memory

On the CPU, where a copy is there when the call returns, the same code runs in tests.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class ComingGradient(NamedTuple):
    host: Tensor
    copied: torch.cuda.Event | None
    """None: it is there."""

    def wait(self) -> Tensor:
        """Return it in the host's memory."""
        if self.copied:
            self.copied.synchronize()
        return self.host


class ToHost:
    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def start(self, gradient: Tensor) -> ComingGradient:
        """Begin to copy a gradient, which may be freed at once."""
        dense = (gradient.to_dense() if gradient.is_sparse else gradient).detach()
        if self._stream is None:
            return ComingGradient(dense.clone(), None)
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            host = torch.empty(dense.shape, dtype=dense.dtype, pin_memory=True)
            host.copy_(dense, non_blocking=True)
            copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            copied.record(self._stream)
        dense.record_stream(self._stream)  # its memory is used again when the copy is done
        return ComingGradient(host, copied)

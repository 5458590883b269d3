"""Memory of the host that is registered with CUDA: the GPU copies from and to it by itself, at the speed of its bus.

Without that, each copy goes through a chunk of pinned memory, and the processor makes a second one.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor

log = logging.getLogger(__name__)


class RegisteredMemory:
    """It counts as pinned (`Tensor.is_pinned`) until `end`, or until the process ends. If CUDA refuses, copies still work."""

    def __init__(self, memory: Tensor) -> None:
        """`memory`: contiguous, in the host's memory, mapped until `end`. This process uses CUDA."""
        self._address = memory.data_ptr()
        code = int(_cudart().cudaHostRegister(self._address, memory.nbytes, 0)) if memory.nbytes else 0  # its own type has no names
        self.succeeded = memory.nbytes > 0 and code == 0
        if code != 0:
            _forget_error()
            log.warning("CUDA cannot register %.0f MB of shared memory (error %d): copies take longer", memory.nbytes / 1e6, code)

    def end(self) -> None:
        """Call it before the memory is unmapped, when no copy is under way."""
        if self.succeeded:
            _cudart().cudaHostUnregister(self._address)
            self.succeeded = False


def _cudart() -> Any:
    return torch.cuda.cudart()  # type: ignore[no-untyped-call]


def _forget_error() -> None:
    """Let the next kernel report the error of the call before it, which is no error of that kernel."""
    try:
        torch.ones(1, device="cuda")
    except RuntimeError:
        log.debug("the error of a registration is forgotten")

"""Vectors on the devices of several processes, which add them up or copy them: by NCCL on GPUs, by gloo on the CPU."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from torch._C._distributed_c10d import Work

LONGEST_WAIT = timedelta(days=30)
"""Torch's own bound of a wait for another process, whose mini-batch may take as long."""


class VectorGroupError(RuntimeError):
    """The processes could not be connected, or a connection is lost."""


class VectorGroup(ABC):
    """All processes call its methods in the same order."""

    _group: Any
    """Torch's process group."""

    def begin(self, begin: Callable[[Any], Work]) -> Work:
        """Begin a collective operation, which `finish` ends. `begin` gets torch's process group. Raises: VectorGroupError."""
        try:
            return begin(self._group)
        except RuntimeError as error:
            raise VectorGroupError(str(error)) from error

    @abstractmethod
    def finish(self, work: Work, look: Callable[[float], None], look_interval: float) -> None:
        """Wait until this is done. `look(seconds)` is called once in each interval, with the time waited so far, and raises where
        the wait is over. Raises: VectorGroupError; and what `look` raises."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect, when all that was begun is done."""

"""The connecting of processes that exchange vectors. It waits for all of them, perhaps for one that is lost meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import torch
from torch._C._distributed_c10d import Store

from gradstream.errors import PlaneLost
from gradstream.wire.gpu.gloo_twin import GlooTwin
from gradstream.wire.gpu.nccl import NcclGroup
from gradstream.wire.gpu.vector_group import VectorGroup

T = TypeVar("T")


def connect_vectors(store: Store, rank: int, count: int, device: torch.device) -> VectorGroup:
    """Wait until every process has come. Call it in a thread: see `Connecting`. Raises: VectorGroupError; and all that the store
    raises."""
    return NcclGroup(store, rank, count, device) if device.type == "cuda" else GlooTwin(store, rank, count)


class Connecting(threading.Thread, Generic[T]):
    """A thread that connects this process with the others. Gloo and NCCL give no way to end that wait."""

    def __init__(self, connect: Callable[[Callable[[float], None]], T]) -> None:
        """`connect`: returns the group. It gets what raises PlaneLost when this process waits no more."""
        super().__init__(name="connecting", daemon=True)
        self._connect, self._is_given_up = connect, threading.Event()
        self._found: list[T] = []
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._found.append(self._connect(self._go_on))
        except Exception as error:
            self._error = error

    def take(self, look: Callable[[float], None], look_interval: float) -> T:
        """Return the group. `look(seconds)`: see `VectorGroup.finish`. Raises: what `connect` raises, and what `look` does."""
        began = time.monotonic()
        self.start()
        try:
            self.join(look_interval)
            while self.is_alive():
                look(time.monotonic() - began)
                self.join(look_interval)
        except BaseException:
            self._is_given_up.set()
            raise
        if self._error:
            raise self._error
        return self._found.pop()

    def _go_on(self, waited: float) -> None:
        if self._is_given_up.is_set():
            raise PlaneLost("this process waits for connections no more")

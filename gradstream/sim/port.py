"""One worker's end of the simulated plane."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

import greenlet
from torch import Tensor

from gradstream.center.entries import Answer, Entry, Payload

Post = Callable[[Entry, Payload | None], None]


class SimPort:
    """A `gradstream.worker.link.Port`: send and receive give the processor back to the cluster until it is their turn."""

    out: Tensor | None = None
    centers: ClassVar[list[Tensor]] = []
    flows: ClassVar[bool] = False

    def __init__(self, post: Post, took: Callable[[float], None]) -> None:
        """`post` queues an entry for the log. `took(arrived)` is told of each answer that the worker reads."""
        self._post, self._took = post, took
        self._cluster = greenlet.getcurrent()
        self._inbox: deque[tuple[Answer, float]] = deque()
        self._waits = False

    def send(self, entry: Entry, payload: Payload | None = None) -> None:
        """The payload goes as it is: its sender leaves it alone until the answer has come, and no shard keeps it longer."""
        self._post(entry, payload)
        self._cluster.switch()

    def flow(self, seq: int, x: Tensor, start: int) -> None:
        """Nothing travels here."""

    def receive(self) -> Answer:
        if not self._inbox:
            self._waits = True
            self._cluster.switch()
        answer, arrived = self._inbox.popleft()
        self._took(arrived)
        return answer

    def deliver(self, answer: Answer, arrives: float) -> bool:
        """True: the worker was waiting for this one, so it can run."""
        self._inbox.append((answer, arrives))
        waited, self._waits = self._waits, False
        return waited

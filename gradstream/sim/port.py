"""One worker's end of the simulated plane."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

import greenlet
import torch
from torch import Tensor

from gradstream.center.entries import Entry, Payload, Push, Response
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Residual, carry

Post = Callable[[Entry, Payload | None], None]


class SimPort:
    """A `gradstream.training.port.Port`: send and receive give the processor back to the cluster until it is their turn."""

    out: Tensor | None = None
    centers: ClassVar[list[Tensor]] = []
    can_send_ahead: ClassVar[bool] = False

    def __init__(self, codec: Codec, post: Post, took: Callable[[float], None]) -> None:
        """`codec`: of pushes. `post` queues an entry for the log. `took(arrived)` is called for each response that the worker
        reads."""
        self._codec, self._post, self._took = codec, post, took
        self._arrived: Tensor | None = None
        self._cluster = greenlet.getcurrent()
        self._inbox: deque[tuple[Response, float]] = deque()
        self._waits = False

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        """The payload itself goes, or what arrives of it: its sender leaves it alone until the response has come, and no shard
        keeps it longer."""
        if isinstance(entry, Push) and payload and self._codec.lossy:
            self._arrived = torch.empty_like(payload.x) if self._arrived is None else self._arrived
            carry(self._codec, payload.x, self._arrived, residual)
            payload = payload._replace(x=self._arrived)
        self._post(entry, payload)
        self._cluster.switch()

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        """Nothing travels here."""

    def receive_within(self, seconds: float) -> Response | None:
        return self.receive() if self._inbox else None

    def receive(self) -> Response:
        if not self._inbox:
            self._waits = True
            self._cluster.switch()
        response, arrived = self._inbox.popleft()
        self._took(arrived)
        return response

    def deliver(self, response: Response, arrives: float) -> bool:
        """True: the worker was waiting for this one, so it can run."""
        self._inbox.append((response, arrives))
        waited, self._waits = self._waits, False
        return waited

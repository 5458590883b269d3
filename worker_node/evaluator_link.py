"""An evaluator's protocol: it pulls one center after the other, and looks up embedding rows that did not come with one."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import torch

from gradstream.center.entries import Join, Leave, Lookup, Payload, Pull, Response, StopWorkers
from gradstream.center.tables.payload import FoundRows, RowKeys, of_kind
from gradstream.evaluation.judge import StopReason
from gradstream.wire.port import RedisPort


class EvaluatorLink:
    def __init__(self, port: RedisPort, rank: int, incarnation: int) -> None:
        self._port, self._rank, self._incarnation = port, rank, incarnation
        self._seq = 0
        self._early = deque[Response]()
        """Responses that came while rows were waited for."""

    def join(self) -> None:
        self._port.send(Join(self._rank, self._incarnation))

    def pull(self, keys: Mapping[str, RowKeys] | None) -> None:
        """Ask for the next center. `keys`: their rows come with this center and those that follow; None: as before."""
        self._seq += 1
        self._port.send(Pull(self._rank, self._incarnation, self._seq), None if keys is None else _beside(keys))

    def receive_within(self, seconds: float) -> Response | None:
        """Return the next center; None if none came in so many seconds."""
        return self._early.popleft() if self._early else self._port.receive_within(seconds)

    def look_up(self, keys: Mapping[str, RowKeys]) -> Mapping[str, FoundRows]:
        """Return rows as they are now, which may be newer than the center. Waits for the servers."""
        self._seq += 1
        self._port.send(Lookup(self._rank, self._incarnation, self._seq), _beside(keys))
        while (response := self._port.receive()).brings != "rows":
            self._early.append(response)
        return of_kind(FoundRows, response.payload and response.payload.rows)

    def stop_workers(self, reason: StopReason) -> None:
        self._port.send(StopWorkers(reason))

    def leave(self) -> None:
        self._port.send(Leave(self._rank, self._incarnation, "done"))


def _beside(keys: Mapping[str, RowKeys]) -> Payload:
    return Payload(torch.empty(0), rows=keys)

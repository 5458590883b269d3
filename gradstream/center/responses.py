"""The responses of a shard, in the order of its decisions: the center, the vector that `apply` gave, or an outcome alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import torch
from msgspec.structs import replace
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Outcome, Payload, ProtocolError, Push, Rejected, Response
from gradstream.center.evaluations import KeptCenter
from gradstream.center.members import Members
from gradstream.center.parameters.center import Center
from gradstream.center.tables.payload import RowKeys


class Held(NamedTuple):
    """The response that a worker gets when the gate releases it: its push and the outcome, or only `go`. See `Response.moved`."""

    outcome: Outcome = "ok"
    push: Push | None = None
    response: Tensor | None = None
    moved: float | None = None


class Responses:
    def __init__(self, members: Members) -> None:
        self.center: Center | None = None
        self.written: list[Response] = []
        """Responses to the entry that the shard is handling."""
        self._members = members

    def send_outcome(
        self,
        rank: int,
        incarnation: int,
        seq: int,
        outcome: Outcome,
        *,
        go: bool = False,
        checkpoint: int = 0,
        moved: float | None = None,
    ) -> None:
        """Send an outcome without a vector."""
        self.written.append(self._response(rank, incarnation, seq, outcome, go, checkpoint, moved=moved))

    def tell(self, rank: int, outcome: Outcome, *, go: bool = False, checkpoint: int = 0) -> None:
        """Send an outcome to a live worker, about none of its entries."""
        self.send_outcome(rank, self._members[rank].incarnation, 0, outcome, go=go, checkpoint=checkpoint)

    def tell_all(self, outcome: Outcome, *, checkpoint: int = 0) -> None:
        for rank in sorted(self._members):
            self.tell(rank, outcome, checkpoint=checkpoint)

    def center_to(
        self,
        rank: int,
        seq: int,
        outcome: Outcome = "ok",
        *,
        go: bool = False,
        moved: float | None = None,
        instead_of: int = -1,
    ) -> None:
        center = self.there()
        center.given_to(rank, instead_of)
        incarnation, position = self._members[rank].incarnation, self._members.positions.get(rank, 0)
        self.written.append(
            self._response(rank, incarnation, seq, outcome, go, center=center.read(), position=position, moved=moved)
        )

    def resend_center(self, rejected: Rejected) -> None:
        """Send the center anew, at its current version, instead of the one that was lost. `moved` is not sent twice."""
        self.center_to(rejected.rank, rejected.seq, rejected.outcome, go=rejected.go, instead_of=rejected.version)

    def rows_to(self, rank: int, incarnation: int, seq: int, wanted: Mapping[str, RowKeys]) -> None:
        """Send the rows of these keys. Raises: ProtocolError: the model has no tables."""
        center = self.there()
        if center.tables is None:
            raise ProtocolError(f"worker {rank} looks rows up in {', '.join(wanted)}, and the model has no tables")
        response = self._response(rank, incarnation, seq, "ok")
        payload = Payload(center.read().x[:0], rows=center.tables.look_up(wanted))
        self.written.append(replace(response, brings="rows", payload=payload))

    def center_to_evaluator(self, incarnation: int, seq: int, outcome: Outcome, keys: Mapping[str, RowKeys]) -> None:
        self.written.append(self._response(EVALUATOR, incarnation, seq, outcome, center=self.there().read_for_evaluation(keys)))

    def kept_center_to_evaluator(self, incarnation: int, seq: int, outcome: Outcome, kept: KeptCenter) -> None:
        response = self._response(EVALUATOR, incarnation, seq, outcome, center=kept.payload)
        self.written.append(replace(response, version=kept.version, samples=kept.samples))

    def reply(self, rank: int, held: Held, *, go: bool) -> None:
        """Send what the worker's push asked for: the center, the vector that `apply` gave, or an outcome."""
        push = held.push
        if push is None and held.outcome == "go":
            self.tell(rank, "go", go=go)
        elif push is None or push.want == "center":
            self.center_to(rank, push.seq if push else 0, held.outcome, go=go, moved=held.moved)
        elif push.want == "response":
            given = torch.zeros_like(self.there().theta) if held.response is None else held.response
            response = self._response(rank, self._members[rank].incarnation, push.seq, held.outcome, go)
            self.written.append(replace(response, brings="response", payload=Payload(given)))
        else:
            self.send_outcome(rank, self._members[rank].incarnation, push.seq, held.outcome, go=go, moved=held.moved)

    def there(self) -> Center:
        if self.center is None:
            raise ProtocolError("a worker pushed or pulled before the center was initialised")
        return self.center

    def _response(
        self,
        rank: int,
        incarnation: int,
        seq: int,
        outcome: Outcome,
        go: bool = False,
        checkpoint: int = 0,
        center: Payload | None = None,
        position: int = 0,
        moved: float | None = None,
    ) -> Response:
        version, samples = (self.center.version, self.center.samples) if self.center else (0, 0)
        brings: Literal["nothing", "center"] = "center" if center else "nothing"
        members = len(self._members)
        return Response(rank, incarnation, seq, outcome, version, samples, members, go, brings, checkpoint, position, center, moved)

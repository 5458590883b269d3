"""The responses of a shard, in the order of its decisions: the center, the vector that `apply` gave, or an outcome alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace
from torch import Tensor

from gradstream.center.dealing.dealer import Dealer
from gradstream.center.dealing.grants import Grant
from gradstream.center.entries import EVALUATOR, Outcome, Payload, ProtocolError, Push, Rejected, Response
from gradstream.center.evaluations import KeptCenter
from gradstream.center.members import Members
from gradstream.center.parameters.center import Center
from gradstream.center.positions import Position
from gradstream.center.tables.payload import RowKeys

if TYPE_CHECKING:
    from gradstream.center.tables.hosted import HostedTables  # needs numba, which jobs without tables never import


class Held(NamedTuple):
    """The response that a worker gets when the gate releases it: its push and the outcome, or only `go`. See `Response.moved`."""

    outcome: Outcome = "ok"
    push: Push | None = None
    response: Tensor | None = None
    moved: float | None = None
    staleness: int | None = None
    """None: the job does not sample updates."""


class Responses:
    def __init__(self, members: Members, dealer: Dealer) -> None:
        self.center: Center | None = None
        self.written: list[Response] = []
        """Responses to the entry that the shard is handling."""
        self._members, self._dealer = members, dealer
        self._asks: dict[int, Mapping[str, RowKeys]] = {}
        """Keys that the newest push of each rank asks for, until its response."""

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
        rank, seq = rejected.rank, rejected.seq
        self.center_to(rank, seq, rejected.outcome, go=rejected.go, instead_of=rejected.version)
        if seq or rejected.outcome == "ok":
            self._add_grant(self._dealer.granted_with(rank, seq))

    def rows_to(self, rank: int, incarnation: int, seq: int, wanted: Mapping[str, RowKeys]) -> None:
        """Send the rows of these keys. Raises: ProtocolError: the model has no tables."""
        response = self._response(rank, incarnation, seq, "ok")
        payload = Payload(self.there().read().x[:0], rows=self._tables(rank, wanted).look_up(wanted))
        self.written.append(replace(response, brings="rows", payload=payload))

    def note_asks(self, rank: int, asks: Mapping[str, RowKeys] | None) -> None:
        """Note the keys whose rows the response to a push of this rank brings; None: none. A checkpoint leaves them out: the next
        incarnation of the rank gets no response to the push."""
        self._asks.pop(rank, None)
        if asks is not None:
            self._asks[rank] = asks

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
        elif push is None:
            self.center_to(rank, 0, held.outcome, go=go, moved=held.moved)
        else:
            self._answer_push(push, held, go=go)
            self._add_asked_rows(rank)
            if held.staleness is not None:
                self.written[-1] = replace(self.written[-1], staleness=held.staleness)
        if held.outcome != "go":
            self._add_grant(self._dealer.grant(rank, push.seq if push else 0, len(self._members)))

    def _add_grant(self, grant: Grant) -> None:
        """Add it to the response written last."""
        if grant:
            self.written[-1] = replace(self.written[-1], grant=grant)

    def _answer_push(self, push: Push, held: Held, *, go: bool) -> None:
        incarnation = self._members[push.rank].incarnation
        if push.want == "center":
            self.center_to(push.rank, push.seq, held.outcome, go=go, moved=held.moved)
        elif push.want == "response":
            given = self.there().vector().zero_() if held.response is None else held.response
            response = self._response(push.rank, incarnation, push.seq, held.outcome, go)
            self.written.append(replace(response, brings="response", payload=Payload(given)))
        else:
            self.send_outcome(push.rank, incarnation, push.seq, held.outcome, go=go, moved=held.moved)

    def _add_asked_rows(self, rank: int) -> None:
        """Add the rows that the push asked for to its response, the last one written: as they are now."""
        asks = self._asks.pop(rank, None)
        if asks is None:
            return
        rows, response = self._tables(rank, asks).look_up(asks), self.written[-1]
        if response.payload is None:
            self.written[-1] = replace(response, brings="rows", payload=Payload(self.there().read().x[:0], rows=rows))
        else:
            self.written[-1] = replace(response, payload=response.payload._replace(rows=rows))

    def _tables(self, rank: int, wanted: Mapping[str, RowKeys]) -> HostedTables:
        """Raises: ProtocolError: the model has none."""
        tables = self.there().tables
        if tables is None:
            raise ProtocolError(f"worker {rank} looks rows up in {', '.join(wanted)}, and the model has no tables")
        return tables

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
        position: Position = 0,
        moved: float | None = None,
    ) -> Response:
        version, samples = (self.center.version, self.center.samples) if self.center else (0, 0)
        brings: Literal["nothing", "center"] = "center" if center else "nothing"
        members = len(self._members)
        return Response(rank, incarnation, seq, outcome, version, samples, members, go, brings, checkpoint, position, center, moved)

"""What a shard answers: who gets the center, who what `apply` gave, who only a word. All in the order in which it is decided."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from msgspec.structs import replace
from torch import Tensor

from gradstream.center.center import Center
from gradstream.center.entries import EVALUATOR, Answer, Payload, ProtocolError, Push, Unread, Verdict
from gradstream.center.evaluations import KeptCenter
from gradstream.center.members import Members


class Held(NamedTuple):
    """What a worker gets when the gate lets it go: its push with what became of it, or nothing but `go`. See `Answer.moved`."""

    verdict: Verdict = "ok"
    push: Push | None = None
    answer: Tensor | None = None
    moved: float | None = None


class Answers:
    def __init__(self, members: Members) -> None:
        self.center: Center | None = None
        self.written: list[Answer] = []
        """Of the entry that is being handled."""
        self._members = members

    def word(
        self, rank: int, incarnation: int, seq: int, verdict: Verdict, *,
        go: bool = False, cut: int = 0, moved: float | None = None,
    ) -> None:  # fmt: skip
        """An answer without a vector."""
        self.written.append(self._answer(rank, incarnation, seq, verdict, go, cut, moved=moved))

    def tell(self, rank: int, verdict: Verdict, *, go: bool = False, cut: int = 0) -> None:
        """To a live worker, about none of its entries."""
        self.word(rank, self._members[rank].incarnation, 0, verdict, go=go, cut=cut)

    def tell_all(self, verdict: Verdict, *, cut: int = 0) -> None:
        for rank in sorted(self._members):
            self.tell(rank, verdict, cut=cut)

    def center_to(
        self, rank: int, seq: int, verdict: Verdict = "ok", *,
        go: bool = False, moved: float | None = None, instead_of: int = -1,
    ) -> None:  # fmt: skip
        center = self.there()
        center.given_to(rank, instead_of)
        life, position = self._members[rank].incarnation, self._members.positions.get(rank, 0)
        self.written.append(self._answer(rank, life, seq, verdict, go, center=center.read(), position=position, moved=moved))

    def center_again(self, unread: Unread) -> None:
        """Another version of what was lost; nobody is told twice how far the center had moved."""
        self.center_to(unread.rank, unread.seq, unread.verdict, go=unread.go, instead_of=unread.version)

    def center_to_evaluator(self, incarnation: int, seq: int, verdict: Verdict) -> None:
        self.written.append(self._answer(EVALUATOR, incarnation, seq, verdict, center=self.there().read_for_evaluation()))

    def kept_center_to_evaluator(self, incarnation: int, seq: int, verdict: Verdict, kept: KeptCenter) -> None:
        answer = self._answer(EVALUATOR, incarnation, seq, verdict, center=kept.payload)
        self.written.append(replace(answer, version=kept.version, samples=kept.samples))

    def reply(self, rank: int, held: Held, *, go: bool) -> None:
        """What a worker's push asked for."""
        push = held.push
        if push is None and held.verdict == "go":
            self.tell(rank, "go", go=go)
        elif push is None or push.want == "center":
            self.center_to(rank, push.seq if push else 0, held.verdict, go=go, moved=held.moved)
        elif push.want == "answer":
            given = torch.zeros_like(self.there().theta) if held.answer is None else held.answer
            answer = self._answer(rank, self._members[rank].incarnation, push.seq, held.verdict, go)
            self.written.append(replace(answer, brings="answer", payload=Payload(given)))
        else:
            self.word(rank, self._members[rank].incarnation, push.seq, held.verdict, go=go, moved=held.moved)

    def there(self) -> Center:
        if self.center is None:
            raise ProtocolError("a worker pushed or pulled before the center was initialised")
        return self.center

    def _answer(
        self, rank: int, incarnation: int, seq: int, verdict: Verdict, go: bool = False, cut: int = 0,
        center: Payload | None = None, position: int = 0, moved: float | None = None,
    ) -> Answer:  # fmt: skip
        version, samples = (self.center.version, self.center.samples) if self.center else (0, 0)
        brings: Literal["nothing", "center"] = "center" if center else "nothing"
        members = len(self._members)
        return Answer(rank, incarnation, seq, verdict, version, samples, members, go, brings, cut, position, center, moved)

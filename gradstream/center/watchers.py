"""Evaluators: the shard gives each incarnation the center when it asks, and announces once that all workers have left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gradstream.center.entries import EVALUATOR, Leave, Lookup, Outcome, Pull, Rejected
from gradstream.center.evaluations import EvaluationQueue
from gradstream.center.parameters.center import Center
from gradstream.center.responses import Responses
from gradstream.center.tables.payload import RowKeys


@dataclass(slots=True)
class Watcher:
    """One incarnation of an evaluator."""

    seq: int = 0
    rejected: int = 0
    """Number of its last `Rejected`."""
    knows_it_is_over: bool = False


class Watchers:
    def __init__(self, responses: Responses) -> None:
        self._responses = responses
        self.queue: EvaluationQueue | None = None
        """With a queue, evaluators get the centers that were due by samples; without, the current center when they ask."""
        self._here: dict[int, Watcher] = {}
        """Live evaluators by incarnation."""
        self.has_tables = False
        self._keys: Mapping[str, RowKeys] | None = None
        """Keys of the rows that evaluators get with each center, as the newest pull with keys named them."""
        self._pulls: list[Pull] = []
        """Unanswered pulls: they wait until the workers have begun, or until the next evaluation is due."""

    @property
    def hold_workers(self) -> bool:
        """True if the evaluator is behind; or if its keys are not known, so that no center can be kept with its rows."""
        return self.queue is not None and (self.queue.hold_workers or self._lacks_keys)

    @property
    def _lacks_keys(self) -> bool:
        return self.has_tables and self._keys is None

    def join(self, incarnation: int) -> None:
        self._here.setdefault(incarnation, Watcher())

    def leave(self, leave: Leave) -> None:
        self._here.pop(leave.incarnation, None)
        self._pulls = [pull for pull in self._pulls if pull.incarnation != leave.incarnation]
        if self.queue:
            self.queue.lose(leave.incarnation)

    def is_news(self, incarnation: int, seq: int) -> bool:
        watcher = self._here.get(incarnation)
        return watcher is not None and watcher.seq < seq

    def here(self, incarnation: int) -> Watcher | None:
        return self._here.get(incarnation)

    def pull(self, pull: Pull, keys: Mapping[str, RowKeys] | None) -> None:
        """Note a pull. A repeat, or a pull from an incarnation that is over, changes nothing. `keys`: None: as before."""
        if self.is_news(pull.incarnation, pull.seq):
            self._keys = self._keys if keys is None else keys
            self._here[pull.incarnation].seq = pull.seq
            self._pulls.append(pull)
            if self.queue:
                self.queue.is_done_with(pull.incarnation)

    def look_up(self, lookup: Lookup, keys: Mapping[str, RowKeys]) -> None:
        """Answer with rows as they are now: a model asks for others than those of the pull."""
        if self.is_news(lookup.incarnation, lookup.seq):
            self._here[lookup.incarnation].seq = lookup.seq
            self._responses.rows_to(EVALUATOR, lookup.incarnation, lookup.seq, keys)

    def keep_if_due(self, center: Center) -> None:
        if self.queue and not self._lacks_keys:
            self.queue.keep_if_due(center, self._keys or {})

    def answer(self) -> None:
        """Answer the waiting pulls that can be answered."""
        while self._pulls and (self.queue is None or self.queue.has_one):
            pull = self._pulls.pop(0)
            self._give(pull.incarnation, pull.seq, "ok")

    def resend(self, rejected: Rejected) -> None:
        """Answer an evaluator again that has rejected the center it was given."""
        self._give(rejected.incarnation, rejected.seq, rejected.outcome)

    def tell_it_is_over(self) -> None:
        """Tell the evaluators once that all workers have left. With a queue, its last center says so."""
        if self.queue:
            self.queue.finish(self._responses.there(), self._keys or {})
            self.answer()
            return
        for incarnation, watcher in self._here.items():
            if not watcher.knows_it_is_over:
                watcher.knows_it_is_over = True
                self._responses.center_to_evaluator(incarnation, 0, "over", self._keys or {})

    def _give(self, incarnation: int, seq: int, outcome: Outcome) -> None:
        if self.queue is None:
            self._responses.center_to_evaluator(incarnation, seq, outcome, self._keys or {})
            return
        kept = self.queue.give_to(incarnation)
        self._responses.kept_center_to_evaluator(incarnation, seq, "over" if kept.is_last else "ok", kept)

"""Evaluators: each incarnation is given the center when it asks, and told once when all workers have left."""

from __future__ import annotations

from dataclasses import dataclass

from gradstream.center.answers import Answers
from gradstream.center.center import Center
from gradstream.center.entries import Leave, Pull, Unread, Verdict
from gradstream.center.evaluations import EvaluationQueue


@dataclass(slots=True)
class Watcher:
    """One life."""

    seq: int = 0
    unread: int = 0
    """Number of its last `Unread`."""
    knows_it_is_over: bool = False


class Watchers:
    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.queue: EvaluationQueue | None = None
        """With it evaluators get the centers that were due by samples; without, the center of the moment at which they ask."""
        self._here: dict[int, Watcher] = {}
        """By incarnation."""
        self._pulls: list[Pull] = []
        """Not answered yet: there is nothing to show before the workers have begun, or before the next evaluation is due."""

    @property
    def hold_workers(self) -> bool:
        return self.queue is not None and self.queue.hold_workers

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

    def pull(self, pull: Pull) -> None:
        """One that is a repeat, or from a life that is over, changes nothing."""
        if self.is_news(pull.incarnation, pull.seq):
            self._here[pull.incarnation].seq = pull.seq
            self._pulls.append(pull)
            if self.queue:
                self.queue.is_done_with(pull.incarnation)

    def keep_if_due(self, center: Center) -> None:
        if self.queue:
            self.queue.keep_if_due(center)

    def answer(self) -> None:
        """Those that have asked."""
        while self._pulls and (self.queue is None or self.queue.has_one):
            pull = self._pulls.pop(0)
            self._give(pull.incarnation, pull.seq, "ok")

    def answer_again(self, unread: Unread) -> None:
        """What it was given could not be read."""
        self._give(unread.incarnation, unread.seq, unread.verdict)

    def tell_it_is_over(self) -> None:
        """Those that do not know. With a queue, they hear it with its last center."""
        if self.queue:
            self.queue.finish(self._answers.there())
            self.answer()
            return
        for incarnation, watcher in self._here.items():
            if not watcher.knows_it_is_over:
                watcher.knows_it_is_over = True
                self._answers.center_to_evaluator(incarnation, 0, "over")

    def _give(self, incarnation: int, seq: int, verdict: Verdict) -> None:
        if self.queue is None:
            self._answers.center_to_evaluator(incarnation, seq, verdict)
            return
        kept = self.queue.give_to(incarnation)
        self._answers.kept_center_to_evaluator(incarnation, seq, "over" if kept.is_last else "ok", kept)

"""Evaluators: each life is given the center when it asks, and told once when all workers have left."""

from __future__ import annotations

from dataclasses import dataclass

from gradstream.center.answers import Answers
from gradstream.center.entries import Leave, Pull


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
        self._here: dict[int, Watcher] = {}
        """By incarnation."""
        self._pulls: list[Pull] = []
        """Not answered yet, as there is nothing to show before the workers have begun."""

    def join(self, incarnation: int) -> None:
        self._here.setdefault(incarnation, Watcher())

    def leave(self, leave: Leave) -> None:
        self._here.pop(leave.incarnation, None)

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

    def answer(self) -> None:
        """Those that have asked."""
        while self._pulls:
            pull = self._pulls.pop(0)
            self._answers.center_to_evaluator(pull.incarnation, pull.seq, "ok")

    def tell_it_is_over(self) -> None:
        """Those that do not know."""
        for incarnation, watcher in self._here.items():
            if not watcher.knows_it_is_over:
                watcher.knows_it_is_over = True
                self._answers.center_to_evaluator(incarnation, 0, "over")

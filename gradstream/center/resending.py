"""Answers that are given once more: their reader could not read the vector that came with them."""

from __future__ import annotations

from gradstream.center.answers import Answers
from gradstream.center.entries import EVALUATOR, Unread
from gradstream.center.members import Member, Members
from gradstream.center.watchers import Watcher, Watchers


class Resending:
    def __init__(self, members: Members, answers: Answers, watchers: Watchers) -> None:
        self._members, self._answers, self._watchers = members, answers, watchers

    def answer_again(self, entry: Unread) -> None:
        reader = self._reader(entry)
        if reader is None:
            self._answers.word(entry.rank, entry.incarnation, entry.seq, "fenced")
        elif reader.unread < entry.number:
            reader.unread = entry.number
            if entry.rank == EVALUATOR:
                self._watchers.answer_again(entry)
            elif entry.brings == "center":
                self._answers.center_again(entry)

    def is_news(self, entry: Unread) -> bool:
        reader = self._reader(entry)
        return reader is not None and reader.unread < entry.number

    def _reader(self, entry: Unread) -> Member | Watcher | None:
        """None: its life is over."""
        if entry.rank == EVALUATOR:
            return self._watchers.here(entry.incarnation)
        member = self._members.get(entry.rank)
        return member if member and member.incarnation == entry.incarnation else None

"""The resending of responses whose reader has rejected their vector."""

from __future__ import annotations

from gradstream.center.entries import EVALUATOR, Rejected
from gradstream.center.members import Member, Members
from gradstream.center.responses import Responses
from gradstream.center.watchers import Watcher, Watchers


class Resending:
    def __init__(self, members: Members, responses: Responses, watchers: Watchers) -> None:
        self._members, self._responses, self._watchers = members, responses, watchers

    def resend(self, entry: Rejected) -> None:
        reader = self._reader(entry)
        if reader is None:
            self._responses.send_outcome(entry.rank, entry.incarnation, entry.seq, "fenced")
        elif reader.rejected < entry.number:
            reader.rejected = entry.number
            if entry.rank == EVALUATOR:
                self._watchers.resend(entry)
            elif entry.brings == "center":
                self._responses.resend_center(entry)

    def is_news(self, entry: Rejected) -> bool:
        reader = self._reader(entry)
        return reader is not None and reader.rejected < entry.number

    def _reader(self, entry: Rejected) -> Member | Watcher | None:
        """Return the process that rejected the vector; None: its incarnation is over."""
        if entry.rank == EVALUATOR:
            return self._watchers.here(entry.incarnation)
        member = self._members.get(entry.rank)
        return member if member and member.incarnation == entry.incarnation else None

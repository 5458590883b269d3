"""The exports that servers make, and at which entries: a function of the log, so the same on every shard.

One is asked for by an entry, or made at the end of a pass. While the export before it is stored, that one waits, until the entry
that says it is committed. An export that is not committed after some passes is given up, each time after twice as many.
"""

from __future__ import annotations

from gradstream.center.entries import Committed, Entry, ExportModel
from gradstream.spec import JobSpec
from gradstream.spec.cadence import is_due

MAX_WAIT = 64
"""Passes that an export waits for the one before it, at most."""
FAILURES = 2
"""Exports in a row that were given up. Then one with all rows follows, which rests on none of them."""


class ExportSchedule:
    def __init__(self, spec: JobSpec) -> None:
        self._every = spec.export.passes if spec.export else None
        self._base_every = spec.export.base_cadence.passes if spec.export else None
        self._newest = self._newest_base = self._committed = self._requested = 0
        self._asked: ExportModel | None = None
        """To be made at the first entry after which there is a center."""
        self._base_due = False
        """The next export of a pass has all rows: until one is committed that has."""
        self._base_under_way = 0
        """The newest export with all rows that is not committed."""
        self._waited, self._patience = 0, 1
        """Passes that have waited for an export that is not committed, and how many will."""
        self._given_up = 0

    def note_entry(self, entry: Entry) -> None:
        """Note an export that is asked for, or committed. Late repeats are ignored, so that the order of the log is that of the
        numbers."""
        match entry:
            case ExportModel(number, base) if number > self._requested:
                self._requested = number
                if number > self._newest:
                    self._begin(number, base=base)
                elif base and number > self._newest_base:  # a pass has closed before the request, and has taken its number
                    self._begin(self._newest + 1, base=True)
            case Committed(what="export"):
                self._note_commit(entry)

    def _note_commit(self, committed: Committed) -> None:
        waited = self._waited
        if committed.number > self._committed:
            self._committed = committed.number
            self._waited, self._patience, self._given_up = 0, 1, 0
            if 0 < self._base_under_way <= committed.number:
                self._base_due, self._base_under_way = False, 0
        self._base_due |= committed.base_due and not self._base_under_way
        if waited and self._newest == committed.number:
            self._begin(self._newest + 1, base=self._base_due)

    def close_passes(self, before: int, closed: int) -> None:
        """So many passes were over before this entry, and are now."""
        if not self._every or not is_due(before, closed, self._every):
            return
        if self._base_every and is_due(before, closed, self._base_every):
            self._base_due = True
        if self._newest > self._committed:
            if self._waited < self._patience:
                self._waited += 1
                return
            self._waited, self._patience = 0, min(2 * self._patience, MAX_WAIT)
            self._given_up += 1
        self._begin(self._newest + 1, base=self._base_due or self._given_up >= FAILURES)

    def take(self) -> ExportModel | None:
        """Return the export to make now."""
        asked, self._asked = self._asked, None
        return asked

    def _begin(self, number: int, *, base: bool) -> None:
        self._newest, self._asked = number, ExportModel(number, base)
        if base:
            self._newest_base = self._base_under_way = number

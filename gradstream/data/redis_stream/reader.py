"""Reads the entries of a Redis stream by their numbers.

The number of an entry is how many were added to the stream before it. Redis counts additions (`entries-added`) and what is left
(`length`), so numbers stay as they are when entries are trimmed at the front. Ids order entries, but do not count them.
"""

from __future__ import annotations

import time
from collections import deque

from gradstream.data.redis_stream.connection import RedisAway, StreamConnection
from gradstream.data.redis_stream.name import StreamEntry, StreamPlace
from gradstream.errors import InvalidWorkload

_EVERY = 0.25
"""Seconds between two looks for entries that have not come yet."""
_COUNT_EVERY = 1.0
"""Seconds for which a count of all entries is new enough to be reported."""
_AT_ONCE = 1024
"""Entries that one command fetches at least, if they are there."""
_PASSED_AT_ONCE = 10_000
"""Entries that one command passes on the way to a number."""


class StreamReader:
    """Not safe for threads. No connection is made before the first read."""

    def __init__(self, url: str, key: str) -> None:
        """Raises: InvalidWorkload: it is no URL of Redis."""
        self._connection = StreamConnection(url, key)
        self.stream = self._connection.stream
        self.place: StreamPlace | None = None
        """The last entry that was taken."""
        self._ahead: deque[StreamEntry] = deque()
        """The entries behind it that have been fetched."""
        self._missed = float("-inf")
        """When Redis did not have all that was wanted."""

    @property
    def added(self) -> int | None:
        """Entries that were ever added, as last seen; None: Redis has not answered yet."""
        return self._connection.added

    @property
    def is_unreachable(self) -> bool:
        return self._connection.is_unreachable

    def resume(self, place: StreamPlace) -> None:
        """Go on behind an entry that an earlier incarnation has taken."""
        self.place = place
        self._ahead.clear()

    def fetch(self, number: int, count: int) -> bool:
        """Return whether `count` entries from this number on are in memory now. False: some are not there yet, or Redis is away.
        Raises: InvalidWorkload: they will never come; Redis refuses to give them, or has been away for too long."""
        if self._next == number and len(self._ahead) >= count:
            return True
        if not self._connection.may_look(self._missed + _EVERY):
            return False
        try:
            if self._next == number or self._seek(number):
                while len(self._ahead) < count and self._fetch_more(number, max(count, _AT_ONCE)):
                    pass
        except RedisAway:
            return False
        self._missed = float("-inf") if len(self._ahead) >= count else time.monotonic()
        return len(self._ahead) >= count

    def take(self, count: int) -> list[StreamEntry]:
        """Return the next entries, which have been fetched."""
        assert self.place is not None, "fetch comes first"
        taken = [self._ahead.popleft() for _ in range(count)]
        self.place = StreamPlace(self.place.number + count, taken[-1].id)
        return taken

    def count(self) -> int:
        """Return how many entries were ever added, as of the last second. 0: not known yet. Raises: InvalidWorkload."""
        self._count_by(self._connection.looked + _COUNT_EVERY)
        return self.added or 0

    def has_had(self, count: int) -> bool:
        """Return whether so many entries were ever added. Raises: InvalidWorkload."""
        if (self.added or 0) < count and self._count_by(self._missed + _EVERY):
            self._missed = time.monotonic()
        return (self.added or 0) >= count

    def trim(self, before: int) -> int:
        """Remove the entries before this number, but never the newest one, and return how many were removed.

        Raises: InvalidWorkload: it is above all numbers, or Redis refuses it. RedisAway."""
        now = self._connection.look("XRANGE", "-", "+", 1)
        if before > now.added:
            raise InvalidWorkload(f"{self.stream} has had {now.added} entries, so none can be trimmed up to number {before}")
        before = min(before, now.added - 1)
        if before <= now.first or not self._seek(before) or not self._fetch_more(before, 1):
            return 0
        return self._connection.trim(self._ahead[0].id)

    @property
    def _next(self) -> int:
        """The number of the first entry ahead; -1: no place is known."""
        return -1 if self.place is None else self.place.number + 1

    def _count_by(self, due: float) -> bool:
        """Count all entries, if that time has come. Return whether it has. Raises: InvalidWorkload."""
        if not self._connection.may_look(due):
            return False
        try:
            self._connection.look("XRANGE", "-", "-", 1)
        except RedisAway:
            pass
        return True

    def _fetch_more(self, needed: int, count: int) -> bool:
        """Fetch up to so many entries behind those ahead. `needed`: the number of the first that has not been taken. Return
        whether any came. Raises: RedisAway. InvalidWorkload: some of them are gone."""
        assert self.place is not None, "the place is known"
        last = StreamPlace(self.place.number + len(self._ahead), self._ahead[-1].id) if self._ahead else self.place
        now = self._connection.look("XRANGE", last.id or "-", "+", count + 1)
        if now.added <= last.number or (not last.id and now.first <= last.number):
            raise self.stream.remade(last.number + 1, now.added)
        begins, found = max(last.number, now.first), now.found
        if begins > max(needed, last.number + 1):
            raise self.stream.trimmed(max(needed, last.number + 1), now.first)
        if len(found) != min(count + 1, now.added - begins):
            raise self.stream.remade(last.number + 1, now.added)
        if begins == last.number:  # the last one is still there, and comes once more
            if found[0].id != last.id:
                raise self.stream.remade(last.number + 1, now.added)
            found = found[1:]
        elif begins > last.number + 1:
            self.place = StreamPlace(begins - 1, b"")
        self._ahead.extend(found)
        return bool(found)

    def _seek(self, number: int) -> bool:
        """Go to the entry of this number, from where it takes fewest steps. Return False if it has not come yet. Raises: RedisAway.
        InvalidWorkload: it is gone."""
        self._ahead.clear()
        now = self._connection.look("XREVRANGE", "+", "-", 1)
        if number > now.added:
            return False
        if number < now.first:
            raise self.stream.trimmed(number, now.first)
        if self.place is None or not now.first <= self.place.number < number:
            self.place = StreamPlace(now.first - 1, b"")
        if now.found and now.added - number < number - self._next:
            return self._seek_back(number, StreamPlace(now.added - 1, now.found[0].id))
        while self._next < number:
            if not self._fetch_more(number, min(_PASSED_AT_ONCE, number - self._next)):
                return False
            self.take(min(len(self._ahead), number - self._next))
        return True

    def _seek_back(self, number: int, at: StreamPlace) -> bool:
        """Go back from an entry to the one before this number."""
        while at.number >= number:
            count = min(_PASSED_AT_ONCE, at.number - number + 1)
            found = self._connection.look("XREVRANGE", b"(" + at.id, "-", count).found
            if len(found) < count:
                return False  # trimmed up to here meanwhile: the next look begins anew
            at = StreamPlace(at.number - count, found[-1].id)
        self.place = at
        return True

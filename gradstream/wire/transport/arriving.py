"""A vector on its way in, part by part."""

from __future__ import annotations

from gradstream.codecs.coding import Decoding
from gradstream.wire.redis.bulk import Fields
from gradstream.wire.transport import checksum
from gradstream.wire.transport.checksum import PART
from gradstream.wire.transport.outbox import parts


class Arriving:
    """One vector, part by part. A `decoding` decodes each part while it is in the cache."""

    def __init__(self, place: memoryview, decoding: Decoding | None = None) -> None:
        self.data = place
        self._decoding = decoding
        self._sums: list[int]
        self._left: int
        self._gap: int
        """Number of the first part that has not arrived."""
        self._next: tuple[int, memoryview] | None
        self.damaged = 0
        """Parts that arrived damaged."""
        self.clear()

    def clear(self) -> None:
        """Forget all parts."""
        self._sums = [-1] * parts(len(self.data))
        self._left, self._gap, self._next = len(self._sums), 0, None
        if self._decoding:
            self._decoding.again()

    @property
    def whole(self) -> bool:
        return not self._left

    @property
    def missing(self) -> int:
        """Parts that have not come, or came damaged."""
        return self._left

    @property
    def checksum(self) -> int:
        return checksum.of_parts(self._sums)

    def place(self, fields: Fields, size: int) -> memoryview | None:
        """Return the memory for a part's bytes; None: they are no part of this vector. A later copy of a part replaces an
        earlier one: its writer may have sent ahead another vector than the final one."""
        index, self._next = int(fields[b"i"]), None
        if not 0 <= index < len(self._sums):
            return None
        part = self.data[index * PART : (index + 1) * PART]
        if int(fields[b"n"]) != len(self.data) or size != len(part):
            return None
        self._left += self._sums[index] >= 0
        self._sums[index] = -1
        if index < self._gap:
            self._gap = index
            if self._decoding:
                self._decoding.again()
        self._next = (index, part)
        return part

    def arrived(self, fields: Fields) -> None:
        """Check the part whose bytes now lie where `place` said. A damaged one counts as missing."""
        if self._next:
            (index, part), self._next = self._next, None
            if (found := checksum.of_part(part)) == int(fields[b"c"]):
                self._sums[index] = found
                self._left -= 1
                self._decode()
            else:
                self.damaged += 1

    def _decode(self) -> None:
        while self._gap < len(self._sums) and self._sums[self._gap] >= 0:
            self._gap += 1
        if self._decoding:
            self._decoding.until(self._gap * PART)

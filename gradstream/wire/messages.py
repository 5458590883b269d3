"""Messages as they travel: one JSON field each. A header is an `Entry` and where to find what lies beside it; a letter is an
`Answer` and the same.

msgspec makes and reads them: between two passes over megabytes nothing of Python is in the caches, and so the cost of a message
is how much code it runs through."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gradstream.center.entries import Answer, Entry

FIELD = b"m"
SHARED = "shared"
"""The `where` of a letter whose vector lies in shared memory."""
ATTEMPT = b'{"kind":"attempt"}'
"""The entry that only makes the log."""

_encode = msgspec.json.Encoder().encode


class Part(Struct, frozen=True, array_like=True):
    """What lies in a payload stream for one shard; no bytes: it lies in shared memory."""

    nbytes: int
    checksum: int
    """See `gradstream.wire.checksum`; 0 with a letter, whose vector is checked part by part."""


class Header(Struct, frozen=True, omit_defaults=True):
    entry: Entry
    parts: tuple[Part, ...] = ()
    """One per shard, if the entry has a payload."""
    layout: dict[str, Any] | None = None
    """With an `Init`: how this model is cut; what a `Layout` is made from."""
    shared: tuple[int, ...] = ()
    """With a `Join`: the shards that find this life's vectors in shared memory."""
    into: int = 0
    """Which of the writer's centers in shared memory the answer goes into."""
    read: int = 0
    """Letters that the writer has read from each shard: what they brought may be removed."""

    def pack(self) -> bytes:
        return _encode(self)

    @classmethod
    def unpack(cls, packed: bytes) -> Header | None:
        """None for the entry that only makes the log."""
        return None if packed == ATTEMPT else _header(packed)


class Letter(Struct, frozen=True, array_like=True):
    """An answer on its way. `number` counts a shard's letters to one worker, so that one written twice is read once."""

    number: int
    answer: Answer
    where: str = ""
    """With a vector: the last part of the key of its stream."""
    part: Part | None = None
    again: int = 0
    """Not an answer: this shard found the payload of this seq damaged and asks for it again."""

    def pack(self) -> bytes:
        """What the answer brings travels beside it."""
        return _encode(replace(self, answer=replace(self.answer, payload=None)))

    @classmethod
    def unpack(cls, packed: bytes) -> Letter:
        return _letter(packed)


_header = msgspec.json.Decoder(Header).decode
_letter = msgspec.json.Decoder(Letter).decode

"""Messages as they travel: one JSON field each. A header is an `Entry` and where to find what lies beside it; a letter is an
`Answer` and the same. Entries and answers are lists of their values, in the order of their fields."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from gradstream.center.entries import Answer, Entry, Init, Join, Leave, Pull, Push, Saved, Snapshot, Stop

if TYPE_CHECKING:
    from gradstream.wire.layout import Layout

FIELD = b"m"

_KINDS: dict[str, type[Entry]] = {
    "init": Init, "join": Join, "push": Push, "pull": Pull, "saved": Saved, "leave": Leave, "snapshot": Snapshot, "stop": Stop,
}  # fmt: skip
_NAMES = {cls: name for name, cls in _KINDS.items()}
_FIELDS = {cls: tuple(f.name for f in fields(cls)) for cls in _KINDS.values()}
_ANSWER = tuple(f.name for f in fields(Answer) if f.name != "payload")
_ANSWERED = attrgetter(*_ANSWER)

_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


SHARED = "shared"
"""The `where` of a letter whose vector lies in shared memory."""


@dataclass(frozen=True, slots=True)
class Part:
    """What lies in a payload stream for one shard; no bytes: it lies in shared memory."""

    nbytes: int
    checksum: int
    """See `gradstream.wire.checksum`; 0 with a letter, whose vector is checked part by part."""


@dataclass(frozen=True, slots=True)
class Header:
    entry: Entry
    parts: tuple[Part, ...] = ()
    """One per shard, if the entry has a payload."""
    layout: Layout | None = None
    """With an `Init`: how this model is cut."""
    shared: tuple[int, ...] = ()
    """With a `Join`: the shards that find this life's vectors in shared memory."""
    into: int = 0
    """Which of the writer's centers in shared memory the answer goes into."""
    read: int = 0
    """Letters that the writer has read from each shard: what they brought may be removed."""

    def pack(self) -> bytes:
        cls = type(self.entry)
        values = [getattr(self.entry, name) for name in _FIELDS[cls]]
        message: dict[str, Any] = {"kind": _NAMES[cls], "entry": values, "read": self.read}
        if self.parts:
            message["parts"] = [(part.nbytes, part.checksum) for part in self.parts]
        if self.shared:
            message["shared"] = self.shared
        if self.into:
            message["into"] = self.into
        if self.layout:
            message["layout"] = self.layout.as_dict()
        return _encode(message).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> Header | None:
        """None for the entry that only makes the log."""
        message = _decode(packed.decode())
        if message["kind"] == "attempt":
            return None
        layout = _layout(message["layout"]) if "layout" in message else None
        entry = _KINDS[message["kind"]](*message["entry"])
        parts = tuple(Part(*part) for part in message.get("parts", ()))
        return cls(entry, parts, layout, tuple(message.get("shared", ())), message.get("into", 0), message["read"])


def _layout(message: dict[str, Any]) -> Layout:
    from gradstream.wire.layout import Layout  # torch: programs that only post entries start without it

    return Layout(**message)


ATTEMPT = json.dumps({"kind": "attempt"}).encode()


@dataclass(frozen=True, slots=True)
class Letter:
    """An answer on its way. `number` counts a shard's letters to one worker, so that one written twice is read once."""

    number: int
    answer: Answer
    where: str = ""
    """With a vector: the last part of the key of its stream."""
    part: Part | None = None
    again: int = 0
    """Not an answer: this shard found the payload of this seq damaged and asks for it again."""

    def pack(self) -> bytes:
        part = (self.part.nbytes, self.part.checksum) if self.part else None
        return _encode([self.number, _ANSWERED(self.answer), self.where, part, self.again]).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> Letter:
        number, answer, where, part, again = _decode(packed.decode())
        return cls(number, Answer(**dict(zip(_ANSWER, answer, strict=True))), where, Part(*part) if part else None, again)

"""Messages as Redis stores them: one JSON field each. A header is an `Entry` and where to find what lies beside it; a letter
is an `Answer` and the same."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from gradstream.center.entries import Answer, Entry, Init, Join, Leave, Pull, Push, Saved, Snapshot, Stop

if TYPE_CHECKING:
    from gradstream.wire.layout import Layout

FIELD = b"m"

_KINDS: dict[str, type[Entry]] = {
    "init": Init, "join": Join, "push": Push, "pull": Pull, "saved": Saved, "leave": Leave, "snapshot": Snapshot, "stop": Stop,
}  # fmt: skip
_NAMES = {cls: name for name, cls in _KINDS.items()}


SHARED = "shared"
"""The `where` of a letter whose vector lies in shared memory."""


@dataclass(frozen=True, slots=True)
class Part:
    """What lies in a payload stream for one shard; no bytes: it lies in shared memory."""

    nbytes: int
    checksum: int
    """CRC-32 of the bytes."""


@dataclass(frozen=True, slots=True)
class Header:
    entry: Entry
    parts: tuple[Part, ...] = ()
    """One per shard, if the entry has a payload."""
    layout: Layout | None = None
    """With an `Init`: how this model is cut."""
    shared: tuple[int, ...] = ()
    """With a `Join`: the shards that find this life's vectors in shared memory."""
    read: int = 0
    """Letters that the writer has read from each shard: what they brought may be removed."""

    def pack(self) -> bytes:
        message: dict[str, Any] = {"kind": _NAMES[type(self.entry)], "entry": asdict(self.entry), "read": self.read}
        if self.parts:
            message["parts"] = [(part.nbytes, part.checksum) for part in self.parts]
        if self.shared:
            message["shared"] = self.shared
        if self.layout:
            message["layout"] = self.layout.as_dict()
        return json.dumps(message, separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> Header | None:
        """None for the entry that only makes the log."""
        message = json.loads(packed)
        if message["kind"] == "attempt":
            return None
        layout = _layout(message["layout"]) if "layout" in message else None
        entry = _KINDS[message["kind"]](**message["entry"])
        parts = tuple(Part(*part) for part in message.get("parts", ()))
        return cls(entry, parts, layout, tuple(message.get("shared", ())), message["read"])


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
        answer = {f.name: getattr(self.answer, f.name) for f in fields(Answer) if f.name != "payload"}
        part = (self.part.nbytes, self.part.checksum) if self.part else None
        message = {"number": self.number, "answer": answer, "where": self.where, "part": part, "again": self.again}
        return json.dumps(message, separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> Letter:
        message = json.loads(packed)
        part = Part(*message["part"]) if message["part"] else None
        return cls(message["number"], Answer(**message["answer"]), message["where"], part, message["again"])

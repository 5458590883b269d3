"""Entries of a Redis stream, their places, and the name of the stream in errors."""

from __future__ import annotations

from typing import NamedTuple

from gradstream.errors import InvalidWorkload


class StreamEntry(NamedTuple):
    id: bytes
    fields: list[bytes]
    """Name, value, name, value, and so on."""

    def values(self) -> dict[bytes, bytes]:
        return dict(zip(self.fields[::2], self.fields[1::2], strict=True))


class StreamPlace(NamedTuple):
    """An entry: all up to it have been read."""

    number: int
    id: bytes
    """Empty: it was trimmed before this reader came, so the next one is the first that is left."""


class StreamName(NamedTuple):
    key: str
    address: str
    """Without user and password."""

    def __str__(self) -> str:
        return f"the stream '{self.key}' at {self.address}"

    def trimmed(self, needed: int, first: int) -> InvalidWorkload:
        return InvalidWorkload(
            f"{self} begins with entry number {first} now, and number {needed} is still to be learned: entries were trimmed too "
            f"early. Trim up to what the last checkpoint needs (docs/guides/online.md). To go on without them, submit a job with "
            f"start={first}, and start_from this one"
        )

    def remade(self, learned: int, added: int) -> InvalidWorkload:
        return InvalidWorkload(
            f"{self} has had {added} entries. Those before number {learned} are not those that were read: it was deleted, made "
            "anew, or lost entries when its server failed. To learn what is there now, submit a new job with start_from this one"
        )

    def uncountable(self) -> InvalidWorkload:
        return InvalidWorkload(
            f"{self}: entries in its midst were deleted, so others have no sure numbers. Use XTRIM instead of XDEL. Here, trim "
            "what is before them, and submit a job that starts there"
        )

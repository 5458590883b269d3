"""Whole lines from pieces of output that begin and end anywhere, for a file that people read. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from gradstream.api.history import LogChunk

LONGEST = 64 * 1024
"""Characters of a line that wait for its end; those before them leave as a line of their own."""


class LogLines:
    """Pieces of several processes come mixed; a line stands where it ends, with the time at which its last piece came."""

    def __init__(self) -> None:
        self._begun: dict[UUID, LogChunk] = {}

    def take(self, chunk: LogChunk) -> Iterator[str]:
        begun = self._begun.pop(chunk.process_id, None)
        *whole, rest = ((begun.text if begun else "") + chunk.text).split("\n")
        for text in whole:
            yield _line(chunk, _last_picture(text))
        rest = _last_picture(rest, painting=True)
        while len(rest) > LONGEST:
            yield _line(chunk, rest[:LONGEST])
            rest = rest[LONGEST:]
        if rest:
            self._begun[chunk.process_id] = chunk.model_copy(update={"text": rest})

    def rest(self) -> Iterator[str]:
        """Yield the lines that no line break has ended."""
        for chunk in self._begun.values():
            yield _line(chunk, _last_picture(chunk.text))


def _last_picture(text: str, *, painting: bool = False) -> str:
    """Return the last state of a line repainted with \\r. While `painting`, the next piece extends it or begins with \\n or \\r."""
    shown = text.rstrip("\r")
    last = shown.rpartition("\r")[2]
    return last + "\r" if painting and len(shown) < len(text) else last


def _line(chunk: LogChunk, text: str) -> str:
    return f"{chunk.time.isoformat(timespec='milliseconds')} {chunk.label} {text}\n"

"""Whole lines from pieces of output that begin and end anywhere, for a file that people read. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from backend.logs.schemas import LogChunk


class Lines:
    """Pieces of several processes come mixed; a line stands where it ends, with the time at which its last piece came."""

    def __init__(self) -> None:
        self._begun: dict[UUID, LogChunk] = {}

    def take(self, chunk: LogChunk) -> Iterator[str]:
        begun = self._begun.pop(chunk.process_id, None)
        *whole, rest = ((begun.text if begun else "") + chunk.text).split("\n")
        for text in whole:
            yield _line(chunk, text)
        if rest:
            self._begun[chunk.process_id] = chunk.model_copy(update={"text": rest})

    def rest(self) -> Iterator[str]:
        """What no line break has ended."""
        for chunk in self._begun.values():
            yield _line(chunk, chunk.text)


def _line(chunk: LogChunk, text: str) -> str:
    """Of a line that was repainted with \\r, the last picture."""
    last = text.rstrip("\r").rpartition("\r")[2]
    return f"{chunk.time.isoformat(timespec='milliseconds')} {chunk.label} {last}\n"

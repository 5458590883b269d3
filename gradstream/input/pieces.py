"""Reads a `Stream`, which comes in pieces, by any number of examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradstream.data.ragged import examples_of, joined_batches
from gradstream.data.source import length_of


class PieceReader:
    """A reader of a `Stream`: a batch is a view of a piece, or of several joined."""

    def __init__(self, pieces: Iterator[Any]) -> None:
        self._pieces = pieces
        self._piece: Any = None
        self._at = self._length = 0

    def read(self, count: int, first: int, step: int) -> tuple[list[Any], int]:
        kept: list[Any] = []
        read = 0
        while read < count and self._has_more():
            stop = min(self._length, self._at + count - read)
            begin = self._at + (first - read) % step
            if begin < stop:
                kept.append(examples_of(self._piece, slice(begin, stop, step)))
            read += stop - self._at
            self._at = stop
        return kept, read

    def _has_more(self) -> bool:
        while self._at == self._length:
            piece = next(self._pieces, None)
            if piece is None:
                return False
            self._piece, self._at, self._length = piece, 0, length_of(piece)
        return True

    def batch(self, kept: list[Any]) -> Any:
        return kept[0] if len(kept) == 1 else joined_batches(kept)

    def count(self, kept: list[Any]) -> int:
        return sum(map(length_of, kept))

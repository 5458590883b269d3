"""A copy of a shard's tables on its way to files.

The server copies a piece between two entries of the log. The thread of uploads joins pieces to files and stores them. So no entry
waits for a whole table, and memory holds a few files at a time.
"""

from __future__ import annotations

import queue
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from gradstream.center.tables.storage.copying import TablesCopy
from gradstream.center.tables.storage.row_file import TablePiece
from gradstream.process.saving.content import Content
from gradstream.process.saving.tensor_file import TensorFile

FILE_BYTES = 1 << 28
"""Size of a file, about."""
AHEAD_BYTES = 1 << 28
"""Bytes that may be copied before the thread of uploads takes them."""


class RowCopy(ABC):
    def __init__(self, copy: TablesCopy) -> None:
        self.copy, self.nbytes = copy, copy.nbytes
        self._pieces = queue.SimpleQueue[tuple[str, TablePiece] | None]()
        self._given = self._taken = 0
        """Bytes, each written by one thread only."""
        self._is_closed = False
        """The thread of uploads takes no more."""
        self.is_stored = False
        self.is_complete = False

    @property
    def may_go_on(self) -> bool:
        return not self.is_complete and (self._given - self._taken < AHEAD_BYTES or self._is_closed)

    def copy_piece(self) -> None:
        """Copy a piece, between two entries of the log."""
        if self._is_closed:
            self.copy.drop()
        else:
            name, piece = self.copy.next_piece()
            self._given += piece.nbytes
            self._pieces.put((name, piece))
        if self.copy.is_complete:
            self.is_complete = True
            self._pieces.put(None)

    def complete(self) -> None:
        """Copy the rest, whatever memory it takes."""
        while not self.is_complete:
            self.copy_piece()

    def files(self) -> Iterator[tuple[str, Content]]:
        """Yield names and contents, one file at least. In the thread of uploads: it waits for pieces."""
        parts, size, number = list[tuple[str, TablePiece]](), 0, 0
        try:
            while part := self._pieces.get():
                parts.append(part)
                size += part[1].nbytes
                self._taken += part[1].nbytes
                if size >= FILE_BYTES:
                    yield f"rows-{number}.safetensors", self.join_pieces(parts)
                    parts, size, number = [], 0, number + 1
            if parts or not number:
                yield f"rows-{number}.safetensors", self.join_pieces(parts)
            self.is_stored = True
        finally:
            self._is_closed = True

    @abstractmethod
    def join_pieces(self, pieces: Sequence[tuple[str, TablePiece]]) -> TensorFile:
        """`pieces`: each with the name of its table."""

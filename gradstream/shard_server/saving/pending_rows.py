"""The rows of a checkpoint or an export that are not all copied yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # needs numba, which jobs without tables never import
    from gradstream.shard_server.saving.row_copy import RowCopy


class PendingRows:
    def __init__(self) -> None:
        self._copy: RowCopy | None = None

    def begin(self, copy: RowCopy) -> None:
        """The copy before is complete."""
        self._copy = copy

    @property
    def may_copy(self) -> bool:
        """There are rows to copy, and memory for them."""
        return self._copy is not None and self._copy.may_go_on

    def copy_piece(self) -> None:
        """Copy some rows, between two entries of the log."""
        if self._copy and self._copy.may_go_on:
            self._copy.copy_piece()
            self._copy = None if self._copy.is_complete else self._copy

    def complete(self) -> None:
        """Copy the rest, whatever memory it takes."""
        if self._copy:
            self._copy.complete()

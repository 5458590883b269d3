"""The rows of one server in exports: what changed since the last export that is committed, without the state of rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from gradstream.center.tables.hosted import EXPORTS, HostedTables
from gradstream.center.tables.storage.contents import MAX_MARK
from gradstream.center.tables.storage.copying import TablesCopy
from gradstream.center.tables.storage.row_file import TablePiece
from gradstream.process.saving.content import Content
from gradstream.process.saving.exports import GONE
from gradstream.process.saving.tensor_file import TensorFile
from gradstream.shard_server.saving.row_copy import RowCopy

MAX_UNKNOWN = 2
"""Exports that were made, and may yet be committed. Earlier ones are given up."""
FEW_KEYS = 10_000
"""Keys that are always remembered for the next delta, however few rows there are."""
_LARGEST = float(np.finfo(np.float16).max)


class ExportMarks:
    """The exports that a later one can rest on, by their places in the log."""

    def __init__(self) -> None:
        self._committed: tuple[int, int] | None = None
        """Place, and the mark up to which it has all changes."""
        self._made: dict[int, int] = {}
        """The same of exports that may yet be committed."""

    def begin(self, place: int, tables: HostedTables, *, base: bool, dtype: str) -> tuple[ExportRowCopy, int | None]:
        """Begin the copy for an export. Return it with the place of the export that it rests on; None: it has all rows."""
        self.bound_memory(tables)
        after, above = self._committed if self._committed and not base else (None, None)
        made = tables.copy(above, candidates=False)
        self._made[place] = made.until
        for old in sorted(self._made, key=self._made.__getitem__)[:-MAX_UNKNOWN]:
            del self._made[old]
        self._forget_removed(tables)
        return ExportRowCopy(made, {name: table.width for name, table in tables.tables.items()}, dtype), after

    def note_commit(self, place: int, tables: HostedTables) -> None:
        """An export is committed: later ones may rest on it. Nothing, if it is none of those made last."""
        until = self._made.get(place)
        if until is not None:
            self._committed = place, until
            self._made = {each: later for each, later in self._made.items() if later > until}
            self._forget_removed(tables)

    def bound_memory(self, tables: HostedTables) -> None:
        """Let the next export be a base, if more keys would be remembered for it than there are rows."""
        if self._needed and tables.removed_above(min(self._needed)) > max(FEW_KEYS, tables.totals().rows):
            self._committed = None
            self._made.clear()
        self._forget_removed(tables)

    @property
    def _needed(self) -> list[int]:
        return [*self._made.values(), *([self._committed[1]] if self._committed else [])]

    def _forget_removed(self, tables: HostedTables) -> None:
        tables.forget_removed(EXPORTS, min(self._needed, default=MAX_MARK))


class ExportRowCopy(RowCopy):
    def __init__(self, copy: TablesCopy, widths: dict[str, int], dtype: str) -> None:
        super().__init__(copy)
        self._widths, self._dtype = widths, dtype
        self._keys, self._gone = defaultdict[str, list[NDArray[np.int64]]](list), defaultdict[str, list[NDArray[np.int64]]](list)
        """By table; filled for deltas only."""
        self.rows = self.gone = 0
        """How many there are, once all files are made."""

    def join_pieces(self, pieces: Sequence[tuple[str, TablePiece]]) -> TensorFile:
        tensors: dict[str, torch.Tensor] = {}
        for name in {name: None for name, _ in pieces}:
            of_table = [piece for of, piece in pieces if of == name]
            keys = np.concatenate([piece.contents.keys for piece in of_table])
            values = np.concatenate([piece.contents.values[:, : self._widths[name]] for piece in of_table])
            self.rows += len(keys)
            if not self.copy.is_whole:
                self._keys[name].append(keys)
                self._gone[name] += [piece.gone for piece in of_table]
            tensors |= {f"{name}/keys": torch.from_numpy(keys), f"{name}/values": self._rounded(torch.from_numpy(values))}
        return TensorFile(tensors)

    def files(self) -> Iterator[tuple[str, Content]]:
        yield from super().files()
        if not self.copy.is_whole:
            yield GONE, self._gone_file()

    def _gone_file(self) -> TensorFile:
        """Keys that came back have rows. A row that was saved from a change comes in a later piece than the keys of its bucket."""
        tensors = dict[str, torch.Tensor]()
        for name in self._widths:
            rows = np.concatenate([np.empty(0, np.int64), *self._keys[name]])
            gone = np.setdiff1d(np.concatenate([np.empty(0, np.int64), *self._gone[name]]), rows)
            self.gone += len(gone)
            tensors[f"{name}/keys"] = torch.from_numpy(gone)
        return TensorFile(tensors)

    def _rounded(self, values: torch.Tensor) -> torch.Tensor:
        return values if self._dtype == "float32" else values.clamp(-_LARGEST, _LARGEST).half()

"""Files with rows of tables as a checkpoint has them: state of the rules, candidates, and keys that are gone.

A `.safetensors` file with the tensors `TABLE/COLUMN` of each table (`TableContents`) and `TABLE/gone`. Its metadata says if
the file is of a base, and the pass of each table when it was copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from safetensors import SafetensorError, safe_open

from gradstream.center.tables.storage.table_contents import TableContents, are_columns
from gradstream.errors import Invalid
from gradstream.spec.tables import TableSpec

ENTRY = "rows"
"""Name of the metadata."""


@dataclass(frozen=True, slots=True)
class TablePiece:
    """A part of a copy of a table."""

    contents: TableContents
    gone: NDArray[np.int64]
    """Keys that an earlier copy may have, and the table no longer has."""

    @property
    def nbytes(self) -> int:
        return self.gone.nbytes + sum(column.nbytes for column in self.contents.columns().values())


class StoredRowsEntry(BaseModel, frozen=True):
    whole: bool
    """The file is of a base; else of what changed since the files before it."""
    times: dict[str, int]
    """The pass of each table."""
    specs: dict[str, TableSpec] = {}
    """The settings of each table; absent from files of earlier versions."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    times: Mapping[str, int]
    pieces: Mapping[str, TablePiece]
    """By table."""
    specs: Mapping[str, TableSpec] = field(default_factory=dict)
    """By table, as far as they are stored."""


def row_tensors(pieces: Sequence[tuple[str, TablePiece]]) -> dict[str, torch.Tensor]:
    """Return the tensors of a file. `pieces`: each with the name of its table."""
    tensors: dict[str, torch.Tensor] = {}
    for name in {name: None for name, _ in pieces}:
        parts = [piece for of, piece in pieces if of == name]
        columns = [part.contents.tensors() for part in parts]
        tensors |= {f"{name}/{column}": torch.cat([each[column] for each in columns]) for column in columns[0]}
        tensors[f"{name}/gone"] = torch.from_numpy(np.concatenate([part.gone for part in parts]))
    return tensors


def read_entry(file: Path) -> StoredRowsEntry:
    """Raises: Invalid: it is damaged, or another kind of file."""
    try:
        with safe_open(file, framework="pt") as opened:
            return StoredRowsEntry.model_validate_json((opened.metadata() or {}).get(ENTRY, ""))
    except (SafetensorError, ValidationError, OSError) as error:
        raise Invalid(f"{file} has no rows of a checkpoint, or is damaged; restore it from a backup") from error


def read_rows(file: Path) -> StoredRows:
    """Raises: Invalid: it is damaged, or another kind of file."""
    entry, found = read_entry(file), dict[str, dict[str, torch.Tensor]]()
    with safe_open(file, framework="pt") as opened:
        for name in opened.keys():  # noqa: SIM118 - it is no dict
            table, _, column = name.rpartition("/")
            found.setdefault(table, {})[column] = opened.get_tensor(name)
    pieces = {}
    for table, columns in found.items():
        gone = columns.pop("gone", None)
        if gone is None or (gone.dtype, gone.ndim) != (torch.int64, 1) or table not in entry.times or not are_columns(columns):
            raise Invalid(f"{file} is damaged: its tensors are not those of rows; restore it from a backup")
        pieces[table] = TablePiece(TableContents.of_tensors(columns), gone.numpy())
    return StoredRows(entry.times, pieces, entry.specs)

"""The trained rows of tables, as a job leaves them: one file of each server, which has the weights and not the state of rules.

`tables-0.safetensors` has the tensors `NAME/keys` (int64) and `NAME/values` (float32, shape (keys, width)) of each table. Its
metadata says which part it is, and what a key without a row reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, Field, ValidationError
from safetensors import SafetensorError, safe_open

from gradstream.center.tables.storage.contents import add_contents
from gradstream.center.tables.storage.row_file import TablePiece
from gradstream.center.tables.storage.spooled import keys_and_weights
from gradstream.center.tables.storage.table_contents import TableContents
from gradstream.center.tables.table import EmbeddingTable
from gradstream.errors import Invalid
from gradstream.spec import JobSpec
from gradstream.spec.tables import AdmissionRule, FirstValues, SgdRule, TableSpec, specs_of

ENTRY = "tables"
"""Name of the metadata."""
_MAX = 100_000
"""Widths and servers that a file may name."""


class TrainedTable(BaseModel, frozen=True):
    width: int = Field(ge=1, le=_MAX)
    reach: float = Field(ge=0, allow_inf_nan=False)
    """First values lie in [-reach, reach)."""
    admits: bool
    """A key without a row reads 0, and not its first values."""


class TrainedPart(BaseModel, frozen=True):
    """The part of one server."""

    version: int
    """The center's version."""
    shard: int = Field(ge=0, le=_MAX)
    shards: int = Field(ge=1, le=_MAX)
    seed: int
    tables: dict[str, TrainedTable]


def trained_part(spec: JobSpec, version: int, shard: int, hosted: Mapping[str, EmbeddingTable]) -> TrainedPart:
    widths = {name: table.width for name, table in hosted.items()}
    tables = {
        name: TrainedTable(width=widths[name], reach=of_table.reach, admits=of_table.admit is not None)
        for name, of_table in specs_of(spec.tables, widths).items()
    }
    return TrainedPart(version=version, shard=shard, shards=spec.shards, seed=spec.seed, tables=tables)


def trained_tensors(hosted: Mapping[str, EmbeddingTable]) -> dict[str, torch.Tensor]:
    tensors = {}
    for name, table in hosted.items():
        keys, weights = keys_and_weights(table)
        tensors[f"{name}/keys"], tensors[f"{name}/values"] = torch.from_numpy(keys), torch.from_numpy(weights)
    return tensors


def read_tables(files: Sequence[Path]) -> dict[str, EmbeddingTable]:
    """Return the tables of a job, which give rows as its workers would look them up. `files`: one of each server.

    Raises: Invalid: a file is damaged or none of these, parts are missing, or they are of different jobs or versions."""
    parts = {file: read_part(file) for file in sorted(files)}
    first = _check_whole(parts)
    tables = {name: _empty_table(name, of_table, first.seed) for name, of_table in first.tables.items()}
    for file, part in parts.items():
        for name, piece in read_trained_rows(file, part).items():
            add_contents(tables[name], piece.contents)
    return tables


def read_part(file: Path) -> TrainedPart:
    """Raises: Invalid: the file is damaged, or none of these."""
    try:
        with safe_open(file, framework="pt") as opened:
            part = TrainedPart.model_validate_json((opened.metadata() or {}).get(ENTRY, ""))
            if all(_has_rows(opened, name, of_table.width) for name, of_table in part.tables.items()):
                return part
            raise Invalid(f"{file} is damaged: its tensors are not those that it names; download it anew")
    except FileNotFoundError as error:
        raise Invalid(f"{file} is not there; download it, or take it out") from error
    except (SafetensorError, ValidationError, OSError) as error:
        raise Invalid(f"{file} has no trained rows, or is damaged; take tables-0.safetensors and the others of a job") from error


def read_trained_rows(file: Path, part: TrainedPart) -> dict[str, TablePiece]:
    """Return the rows of a file by table, with their weights alone. `part`: what `read_part` has read."""
    with safe_open(file, framework="pt") as opened:
        columns = {name: (opened.get_tensor(f"{name}/keys"), opened.get_tensor(f"{name}/values")) for name in part.tables}
    return {name: TablePiece(_contents(*of_table), np.empty(0, np.int64)) for name, of_table in columns.items()}


def _has_rows(opened: Any, name: str, width: int) -> bool:
    """Return whether there are keys and values of this width. Raises: SafetensorError: there are none."""
    keys, values = opened.get_slice(f"{name}/keys"), opened.get_slice(f"{name}/values")
    shape = values.get_shape()
    return bool((keys.get_dtype(), values.get_dtype()) == ("I64", "F32") and shape[1:] == [width] and keys.get_shape() == shape[:1])


def _check_whole(parts: Mapping[Path, TrainedPart]) -> TrainedPart:
    if not parts:
        raise Invalid("no files of trained rows; give tables-0.safetensors and the others of a job")
    first = next(iter(parts.values()))
    for file, part in parts.items():
        if part.model_copy(update={"shard": first.shard}) != first:
            raise Invalid(f"{file} is of another job, or another version, than {next(iter(parts))}; give the files of one job")
    if missing := set(range(first.shards)) - {part.shard for part in parts.values()}:
        names = ", ".join(f"tables-{shard}.safetensors" for shard in sorted(missing))
        raise Invalid(f"files of trained rows are missing: {names}; the job had {first.shards} servers")
    if len(parts) > first.shards:
        raise Invalid("a file of trained rows is given twice; give one of each server")
    return first


def _empty_table(name: str, of_table: TrainedTable, seed: int) -> EmbeddingTable:
    admit = AdmissionRule(count=1) if of_table.admits else None
    spec = TableSpec(rule=SgdRule(), init=FirstValues(uniform=of_table.reach), admit=admit)
    return EmbeddingTable(name, of_table.width, spec, seed)


def _contents(keys: torch.Tensor, values: torch.Tensor) -> TableContents:
    rows, waiting = len(keys), torch.empty(0, dtype=torch.int64)
    columns = {"keys": keys, "values": values, "updates": torch.zeros(rows), "seen": torch.zeros(rows)}
    columns |= {"events": torch.zeros(rows, 2), "waiting": waiting, "waiting_occurrences": waiting, "waiting_seen": waiting}
    return TableContents.of_tensors(columns | {"waiting_events": torch.zeros(0, 2)})

"""Tables in Parquet files. Needs pyarrow, which is imported when the first table is opened: `pip install 'gradstream[parquet]'`.

Parquet packs values by column and by group of rows, so no row of it can be mapped. `parquet` decodes the columns that are asked
for into one matrix in the memory of each process, and is indexed like any other source; `parquet_stream` reads one piece after
the other, for tables larger than memory.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy
import torch

from gradstream.data.files import existing
from gradstream.data.idcolumns import read_ids
from gradstream.data.ragged import Ragged, examples_of, joined_batches
from gradstream.data.source import Columns, Source, Stream, length_of
from gradstream.errors import InvalidWorkload

_PIECE = 65536
"""Rows that are decoded at once."""


def parquet(path: str | Path, features: Sequence[str] = (), label: str | None = None, *, ids: Sequence[str] = ()) -> Source:
    """Batches (features, label), or features alone. Features: float32, shape (b, width), the columns side by side; a column of
    lists, all of one length, is as wide as its lists. Label: int64 if the column has whole numbers or booleans, else float32.

    With `ids` batches are dicts: each of these columns under its name, int64, as `Ragged` where it holds lists; the label under its
    name; the matrix under "features". Strings become `gradstream.nn.hashed(strings, NAME)`.

    `path`: a file, or a folder of *.parquet, read in the order of their names. Memory of each process: 4 bytes for each row and
    feature, 8 for each id.

    Raises: InvalidWorkload: no pyarrow, no such file or column; lists of unequal lengths; text, or values that are missing."""
    table = ParquetTable(path, features, label, ids).with_files()
    if table.ids:
        return _Loaded(joined_batches(list(table.pieces(table.groups, 0)) or _no_rows(path)))
    columns: list[torch.Tensor] = []
    start = 0
    for piece in table.pieces(table.groups, 0):
        parts = [piece] if label is None else list(piece)
        columns = columns or [torch.empty(table.rows, *part.shape[1:], dtype=part.dtype) for part in parts]
        for column, part in zip(columns, parts, strict=True):
            column[start : start + len(part)] = part
        start += len(parts[0])
    if not columns:
        _no_rows(path)
    return Columns([column.numpy() for column in columns], [str(path)] * len(columns), alone=label is None)


def parquet_stream(path: str | Path, features: Sequence[str] = (), label: str | None = None, *, ids: Sequence[str] = ()) -> Stream:
    """The same batches, read one piece after the other in the order of the table: mix its rows when you write it.

    Each worker reads groups of rows of its own, so there must be at least as many groups as workers.
    Raises: InvalidWorkload, as `parquet` does."""
    return _Streamed(ParquetTable(path, features, label, ids).with_files())


class _Loaded(Source):
    """All examples as one batch."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __len__(self) -> int:
        return length_of(self._whole)

    def batch(self, chosen: torch.Tensor, generator: torch.Generator | None = None) -> Any:
        return examples_of(self._whole, chosen)


def _no_rows(path: str | Path) -> NoReturn:
    """Raises: InvalidWorkload."""
    raise InvalidWorkload(f"{path} has no rows")


class _Streamed(Stream):
    def __init__(self, table: ParquetTable, rank: int = 0, count: int = 1) -> None:
        self._table, self._groups = table, table.groups[rank::count]
        if not self._groups:
            raise InvalidWorkload(
                f"{table.path} has {len(table.groups)} groups of rows for {count} workers; write it with smaller ones "
                "(row_group_size), or lower roles.worker.count"
            )

    def __len__(self) -> int:
        return sum(rows for _, _, rows in self._groups)

    def shard(self, rank: int, count: int) -> Stream:
        return _Streamed(self._table, rank, count)

    def pieces(self, start: int) -> Iterator[Any]:
        yield from self._table.pieces(self._groups, start)


Group = tuple[Path, int, int]
"""File, number of the group of rows in it, rows."""


def _check_group(opened: Any, known: Group) -> None:
    """Raises: InvalidWorkload: the file was written anew since its groups were listed."""
    file, group, rows = known
    metadata = opened.metadata
    now = metadata.row_group(group).num_rows if group < metadata.num_row_groups else 0
    if now != rows:
        raise InvalidWorkload(
            f"{file} was written anew while it was read: its group of rows number {group} had {rows} rows, and now it has {now}; "
            "leave files as they are, and give new rows a file of their own"
        )


class ParquetTable:
    """Columns of some files, decoded piece by piece."""

    def __init__(self, path: str | Path, features: Sequence[str], label: str | None, ids: Sequence[str]) -> None:
        """Raises: InvalidWorkload."""
        self.path, self._features, self._label, self.ids = Path(path), list(features), label, list(ids)
        if isinstance(features, str) or not (self._features or self.ids):
            raise InvalidWorkload(f"{path}: give the names of the feature columns as a list, features=['age', ...]")
        if isinstance(ids, str):
            raise InvalidWorkload(f"{path}: give the names of the columns of ids as a list, ids=['{ids}']")
        keys = [*(["features"] if self._features else []), *([] if label is None else [label]), *self.ids]
        if self.ids and len(set(keys)) < len(keys):
            raise InvalidWorkload(f"{path}: a batch would have two entries of one name among {', '.join(keys)}; rename a column")
        self._columns = list(dict.fromkeys([*self._features, *keys[bool(self._features) :]]))
        self._width: int | None = None
        self._label_type: torch.dtype | None = None
        self._kinds: dict[str, type] = {}
        self.groups: list[Group] = []

    def with_files(self) -> ParquetTable:
        """Return this table with the groups of its file, or of the files in its folder. Raises: InvalidWorkload."""
        files = sorted(self.path.glob("*.parquet")) if self.path.is_dir() else [existing(self.path)]
        if not files:
            raise InvalidWorkload(f"{self.path} has no *.parquet in it; name a folder or file that has")
        self.groups = [group for file in files for group in self.groups_of(file)]
        return self

    def groups_of(self, file: Path) -> list[Group]:
        """Raises: InvalidWorkload."""
        with self._opened(file) as opened:
            self._check(file, opened.schema_arrow.names)
            groups = range(opened.metadata.num_row_groups)
            return [(file, g, rows) for g in groups if (rows := opened.metadata.row_group(g).num_rows)]

    @property
    def rows(self) -> int:
        return sum(rows for _, _, rows in self.groups)

    def pieces(self, groups: Sequence[Group], start: int) -> Iterator[Any]:
        """The rows of these groups from number `start`, as (features, label) or features. Raises: InvalidWorkload."""
        for file, group, rows in groups:
            if start >= rows:
                start -= rows
                continue
            with self._opened(file) as opened:
                _check_group(opened, (file, group, rows))
                for batch in opened.iter_batches(_PIECE, row_groups=[group], columns=self._columns, use_threads=False):
                    kept = batch.slice(start) if start < batch.num_rows else None
                    start = max(0, start - batch.num_rows)
                    if kept is not None:
                        yield self._decoded(file, kept)

    def times(self, group: Group, name: str) -> numpy.ndarray[Any, Any]:
        """A column of timestamps, or of numbers, of a group of rows, in seconds: float64. Raises: InvalidWorkload."""
        import pyarrow

        file, number, _ = group
        with self._opened(file) as opened:
            self._check(file, opened.schema_arrow.names, [name])
            column = opened.read_row_group(number, columns=[name], use_threads=False).column(name).combine_chunks()
        if pyarrow.types.is_timestamp(column.type):
            seconds = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
            times = self._values(file, name, column.cast(pyarrow.int64())) / seconds
        else:
            times = self._values(file, name, column).astype(numpy.float64)
        if not numpy.isfinite(times).all():
            raise InvalidWorkload(f"{file}: a time in '{name}' is not finite; leave its row out")
        return times

    def _decoded(self, file: Path, rows: Any) -> Any:
        if not self.ids:
            x = self._x(file, rows)
            return x if self._label is None else (x, self._y(file, rows, self._label))
        batch: dict[str, Any] = {"features": self._x(file, rows)} if self._features else {}
        if self._label is not None:
            batch[self._label] = self._y(file, rows, self._label)
        return batch | {name: self._ids_of(file, name, rows.column(name)) for name in self.ids}

    def _ids_of(self, file: Path, name: str, column: Any) -> torch.Tensor | Ragged:
        """Raises: InvalidWorkload."""
        found = read_ids(file, name, column)
        if self._kinds.setdefault(name, type(found)) is not type(found):
            raise InvalidWorkload(f"{file}: '{name}' holds lists here or elsewhere, not both; write all files with one schema")
        return found

    def _x(self, file: Path, rows: Any) -> torch.Tensor:
        x = torch.from_numpy(numpy.concatenate([self._matrix(file, name, rows.column(name)) for name in self._features], axis=1))
        if self._width not in (None, x.shape[1]):
            raise InvalidWorkload(f"{file}: features are {self._width} and {x.shape[1]} wide; make all lists equally long")
        self._width = x.shape[1]
        return x

    def _y(self, file: Path, rows: Any, label: str) -> torch.Tensor:
        values = self._values(file, label, rows.column(label))
        y = torch.from_numpy(values.astype(numpy.int64 if values.dtype.kind in "biu" else numpy.float32))
        if self._label_type not in (None, y.dtype):
            raise InvalidWorkload(f"{file}: '{label}' has another type than before; write all files with one schema")
        self._label_type = y.dtype
        return y

    def _matrix(self, file: Path, name: str, column: Any) -> numpy.ndarray[Any, Any]:
        """float32, shape (rows, width)."""
        import pyarrow

        rows = len(column)
        kind = column.type
        if not (pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind) or pyarrow.types.is_fixed_size_list(kind)):
            return self._values(file, name, column).astype(numpy.float32).reshape(rows, 1)
        if column.null_count:
            raise self._missing(file, name, column.null_count)
        flat = self._values(file, name, column.flatten()).astype(numpy.float32)
        lengths = set(column.value_lengths().unique().to_pylist())
        if len(lengths) != 1:
            found = f"{min(lengths)} to {max(lengths)}"
            raise InvalidWorkload(f"{file}: the lists of '{name}' have {found} values; make them equally long")
        return flat.reshape(rows, -1)

    def _values(self, file: Path, name: str, column: Any) -> numpy.ndarray[Any, Any]:
        import pyarrow

        kind = column.type
        if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind)):
            raise InvalidWorkload(
                f"{file}: the column '{name}' holds {kind}, which are not numbers; convert it when you write the file"
            )
        if column.null_count:
            raise self._missing(file, name, column.null_count)
        return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]

    def _missing(self, file: Path, name: str, count: int) -> InvalidWorkload:
        return InvalidWorkload(f"{file}: {count} values of '{name}' are missing (or more); fill them in, or leave the rows out")

    def _check(self, file: Path, names: list[str], columns: Sequence[str] = ()) -> None:
        for column in columns or self._columns:
            if column not in names:
                close = difflib.get_close_matches(column, names, 1)
                hint = f"did you mean '{close[0]}'?" if close else f"it has {', '.join(names[:30])}"
                raise InvalidWorkload(f"{file} has no column '{column}'; {hint}")

    def _opened(self, file: Path) -> Any:
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise InvalidWorkload(
                f"{file} is read by pyarrow, which is not installed here; on every node: pip install 'gradstream[parquet]'"
            ) from error
        try:
            return ParquetFile(file, memory_map=True)
        except (ArrowException, OSError) as error:
            raise InvalidWorkload(f"{file} is not a complete Parquet file: {str(error).rstrip('.')}; write it again") from error

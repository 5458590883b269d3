"""All points of a job as a file of any length. PORTION batches are in memory at a time, each portion read in a transaction."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as pc
import pyarrow.parquet as pq

from backend.db import Database
from backend.jobs import service as jobs
from backend.metrics import repository
from backend.metrics.models import MetricBatchRow
from backend.metrics.schemas import ExportFormat
from backend.metrics.store import payloads
from backend.metrics.store.points import Decoded, decode, joined
from gradstream.errors import NotFound
from gradstream.metrics import FORMULA
from gradstream.process.order import label_of

PORTION = 500
"""Batches in memory at a time."""
ROW_GROUP = 50_000
"""Points that are gathered for one piece of a file, or a few more."""

_SCHEMA = pa.schema(
    [
        ("attempt", pa.int32()),
        ("source", pa.string()),
        ("name", pa.string()),
        ("rank", pa.int32()),
        ("step", pa.int64()),
        ("samples", pa.int64()),
        ("version", pa.int64()),
        ("time", pa.float64()),
        ("value", pa.float64()),
    ]
)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_./-]{1,100}")
"""Names of metrics that may stand in the name of a file and in a header."""
MEDIA_TYPES = {ExportFormat.CSV: "text/csv; charset=utf-8", ExportFormat.PARQUET: "application/vnd.apache.parquet"}


@dataclass(frozen=True, slots=True)
class Export:
    """The points that a job had at first, in the order of arrival; columns as in `gradstream.metrics.Point`, attempt and source."""

    database: Database
    job_id: UUID
    job_name: str
    upto: int
    batches: int
    names: frozenset[str] | None

    @property
    def about(self) -> str:
        """The metric, as a part of a file's name, if it is one; else `metrics`."""
        [name] = self.names if self.names and len(self.names) == 1 else ["metrics"]
        return name.replace("/", "-") if _PLAIN_NAME.fullmatch(name) else "metrics"

    def csv(self) -> Iterator[bytes]:
        for number, table in enumerate(self._tables()):
            out = io.BytesIO()
            pc.write_csv(_without_formulas(table), out, pc.WriteOptions(include_header=number == 0))
            yield out.getvalue()

    def parquet(self) -> Iterator[bytes]:
        out = _Pipe()
        with pq.ParquetWriter(pa.PythonFile(out, mode="w"), _SCHEMA, compression="zstd") as writer:
            for table in self._tables():
                writer.write_table(table)
                yield out.taken()
        yield out.taken()

    def _tables(self) -> Iterator[pa.Table]:
        """Yield at least one table, so that a file has its columns."""
        gathered: list[pa.Table] = [_SCHEMA.empty_table()]
        for table in self._portions():
            gathered.append(table)
            if sum(map(len, gathered)) >= ROW_GROUP:
                yield pa.concat_tables(gathered).combine_chunks()
                gathered = []
        if gathered:
            yield pa.concat_tables(gathered).combine_chunks()

    def _portions(self) -> Iterator[pa.Table]:
        """Raises: NotFound, when batches are removed meanwhile: a part of the points must not pass for all."""
        after, read = 0, 0
        while True:
            with self.database.transaction() as session:
                rows = repository.batches(session, self.job_id, after=after, upto=self.upto, limit=PORTION)
            if not rows:
                break
            after, read = rows[-1].seq, read + len(rows)
            yield _table(rows, self.names)
        if read < self.batches:
            raise NotFound(f"The metrics of job {self.job_id} were removed while they were read.", job=str(self.job_id))


def begin(database: Database, job_id: UUID, *, names: Sequence[str] | None = None) -> Export:
    """Raises: NotFound."""
    with database.transaction() as session:
        job = jobs.find(session, job_id)
        batches = repository.batches_upto(session, job_id, job.feed)
        return Export(database, job_id, job.name, job.feed, batches, frozenset(names) if names else None)


def write_parquet(database: Database, job_id: UUID, path: Path) -> None:
    with path.open("wb") as file:
        for part in begin(database, job_id).parquet():
            file.write(part)


def _without_formulas(table: pa.Table) -> pa.Table:
    """Names that a spreadsheet would compute get an apostrophe, which it does not show."""
    for at, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            begins = pa.compute.match_substring_regex(column, FORMULA)
            quoted = pa.compute.binary_join_element_wise("'", column, "")
            table = table.set_column(at, table.schema.field(at), pa.compute.if_else(begins, quoted, column))
    return table


class _Pipe(io.RawIOBase):
    """A file that is read while it is written. Its position goes on: Parquet notes where in the file its parts begin."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._written += len(part)
        return len(part)

    def tell(self) -> int:
        return self._written

    def taken(self) -> bytes:
        """Return the bytes written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _table(rows: Sequence[MetricBatchRow], names: frozenset[str] | None) -> pa.Table:
    batches = [decode(payloads.unpack(row.payload)) for row in rows]
    kept = [_wanted(batch, names) for batch in batches]
    sizes = [int(mask.sum()) for mask in kept]
    points = joined([batch.points[mask] for batch, mask in zip(batches, kept, strict=True)])
    keys = [key for batch in batches for key in batch.keys]
    offsets = np.cumsum([0, *(len(batch.keys) for batch in batches)])
    key = np.concatenate(
        [batch.series[mask] + offset for batch, mask, offset in zip(batches, kept, offsets[:-1], strict=True)]
    ).astype(np.int64)
    columns = {
        "attempt": np.repeat([row.attempt for row in rows], sizes),
        "source": _spread([label_of(row.source) for row in rows], np.repeat(np.arange(len(rows)), sizes)),
        "name": _spread([name for name, _ in keys], key),
        "rank": np.array([rank for _, rank in keys], np.int64)[key],
        **{axis: np.ascontiguousarray(points[axis]) for axis in ("step", "samples", "version", "time", "value")},
    }
    return pa.table([pa.array(columns[field.name]).cast(field.type) for field in _SCHEMA], schema=_SCHEMA)


def _spread(values: list[str], places: np.ndarray) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(places))


def _wanted(batch: Decoded, names: frozenset[str] | None) -> np.ndarray:
    wanted = np.array([names is None or name in names for name, _ in batch.keys], bool)
    return wanted[batch.series]

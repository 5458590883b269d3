"""All points of a job as one Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy.orm import Session

from backend.metrics import repository

ROWS = 50_000
"""Rows in memory at a time."""

_SCHEMA = pa.schema(
    [
        ("attempt", pa.int32()), ("source", pa.string()), ("name", pa.string()), ("rank", pa.int32()), ("step", pa.int64()),
        ("samples", pa.int64()), ("version", pa.int64()), ("time", pa.float64()), ("value", pa.float64()),
    ]
)  # fmt: skip


def parquet(session: Session, job_id: UUID, path: Path) -> None:
    """Columns as in `gradstream.metrics.Point`, with attempt and source; in the order of arrival."""
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        for portion in repository.portions(session, job_id, ROWS):
            writer.write_table(_table(portion))


def _table(rows: Sequence[Any]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)

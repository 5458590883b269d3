"""Forecasts of embedding tables from what was measured in some mini-batches. They need no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gradstream.advise.key_counts import rows_after, samples_until
from gradstream.api.plan import PlannedTable, TableSize
from gradstream.spec import JobSpec
from gradstream.spec.tables import DEFAULT, TableSpec

_LARGEST = 10**15
"""Samples beyond which a forecast says "never"."""


def planned_tables(
    spec: JobSpec, sizes: Sequence[TableSize], epoch_samples: int | None, server_memory: int | None
) -> list[PlannedTable]:
    """`server_memory`: bytes that a server may use for rows; None: not known. Tables share it as they share the measured rows."""
    bytes_of = [size.distinct * size.row_bytes for size in sizes]
    memory = [None if server_memory is None else server_memory * part / sum(bytes_of) for part in bytes_of]
    samples = samples_of(spec, epoch_samples)
    return [_planned(spec, size, samples, own) for size, own in zip(sizes, memory, strict=True)]


def samples_of(spec: JobSpec, epoch_samples: int | None) -> int | None:
    """Return the samples that make rows: those of the job, or of an epoch if that is less, since later epochs repeat its keys."""
    steps, epochs = spec.stop.steps, spec.stop.epochs
    known = [] if steps is None else [steps * spec.batch_size * spec.roles.worker.count]
    known += [] if epoch_samples is None else [max(1, round(epoch_samples * min(1.0, epochs or 1.0)))]
    return min(known, default=None)


def _planned(spec: JobSpec, size: TableSize, samples: int | None, memory: float | None) -> PlannedTable:
    table = spec.tables.get(size.name) or spec.tables.get(DEFAULT) or TableSpec()
    shards = spec.shards
    keys = None if samples is None else rows_after(size.distinct, size.growth, size.samples, samples)
    rows = None if keys is None else round(min(keys, table.most or keys))
    full = None if memory is None else _rows_in(memory * shards, size, table)
    is_bounded = full is None or (table.most is not None and table.most <= full)
    until = math.inf if is_bounded or full is None else samples_until(size.distinct, size.growth, size.samples, full)
    return PlannedTable(
        name=size.name,
        rows=rows,
        row_bytes=size.row_bytes,
        server_bytes=None if rows is None else round(_memory_of(rows, size, table) / shards),
        push_bytes=size.push_bytes,
        pull_bytes=size.pull_bytes,
        cached=size.cached,
        cache_bound=size.cache_bound,
        full_at_rows=full,
        full_at_samples=round(until) if until < _LARGEST else None,
        message=_message(size, samples, table) + _about_disk(rows, size, table, shards),
    )


def _in_memory(size: TableSize, table: TableSpec) -> float:
    """Return how many rows stay in memory, of all servers together."""
    return table.memory.rows if table.memory and 0 < size.cold_row_bytes < size.row_bytes else math.inf


def _memory_of(rows: int, size: TableSize, table: TableSpec) -> float:
    """Return the bytes of memory that so many rows take, those included whose vectors lie on the disk."""
    hot = min(rows, _in_memory(size, table))
    return hot * size.row_bytes + (rows - hot) * size.cold_row_bytes


def _rows_in(memory: float, size: TableSize, table: TableSpec) -> int:
    """Return how many rows these bytes of memory hold."""
    hot = min(memory / size.row_bytes, _in_memory(size, table))
    left = memory - hot * size.row_bytes
    return round(hot + (left / size.cold_row_bytes if hot < memory / size.row_bytes else 0))


def _about_disk(rows: int | None, size: TableSize, table: TableSpec, shards: int) -> str:
    if rows is None or rows <= (hot := _in_memory(size, table)):
        return ""
    nbytes = (rows - hot) * (size.row_bytes - size.cold_row_bytes) / shards
    return (
        f" {hot:,} of {rows:,} rows stay in memory. The others take {nbytes / 2**20:,.1f} MiB on each server's disk, and up to "
        "twice that while they change. Each lookup of such a row reads from that disk."
    )


def _message(size: TableSize, samples: int | None, table: TableSpec) -> str:
    told = f"{size.distinct:,} distinct keys in {size.samples:,} examples, growing as examples^{size.growth:.2f}."
    if samples is None:
        return f"{told} It is not known how many examples the job trains, so its rows are not known either."
    told += f" Rows are those after {samples:,} examples, if keys go on so."
    if table.admit:
        return f"{told} Keys that are not admitted make no row, so there will be fewer."
    return f"{told} Shrinks evict rows, so there may be fewer." if table.keep else told

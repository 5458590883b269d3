"""The forecast of an embedding table in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradstream.api.plan import PlannedTable


def table_lines(table: PlannedTable) -> Iterator[str]:
    from gradstream.cli.terminal.output import size

    if table.rows is not None and table.row_bytes is not None and table.server_bytes is not None:
        yield f"about {table.rows:,} rows of {table.row_bytes} B, {size(table.server_bytes)} of each server"
    yield table.message
    if table.push_bytes is not None and table.pull_bytes is not None:
        rows, gradients = size(round(table.pull_bytes)), size(round(table.push_bytes))
        yield f"a mini-batch looks up {rows} of rows and pushes {gradients} of gradients"
    if table.cached is not None:
        yield f"a cache of each worker with bound {table.cache_bound} would save about {table.cached:.0%} of the looked-up rows"
    if table.full_at_rows is not None:
        until = "" if table.full_at_samples is None else f", about {table.full_at_samples:,} examples if keys go on so"
        yield f"servers are full at {table.full_at_rows:,} rows{until}"

"""Metrics of embedding tables. They come from each shard, and from workers that cache rows."""

from __future__ import annotations

from gradstream.metrics.definition import Metric, define_metric

ROWS = define_metric("table/rows", "Rows", "rows", "Rows of all embedding tables, by shard")
CANDIDATES = define_metric("table/candidates", "Candidates", "keys", "Keys without a row that wait for their admission, by shard")
TABLE_BYTES = define_metric(
    "table/bytes", "Memory of tables", "bytes", "Memory of rows, candidates and their index, by shard", "lower"
)
ROWS_COLD = define_metric(
    "table/cold", "Cold rows", "rows", "Rows whose vectors lie on the disk, as their table is bounded in memory, by shard"
)
COLD_BYTES = define_metric("table/disk", "Disk of tables", "bytes", "Files of cold rows, by shard", "lower")
COLD_LOOKUPS = define_metric(
    "table/from_disk",
    "Rows from the disk",
    "1",
    "Share of the looked-up keys whose rows lay on the disk since the point before, of tables that are bounded in memory, by shard",
    "lower",
)
ROWS_BEYOND = define_metric(
    "table/beyond",
    "Rows beyond the bound",
    "rows",
    "Rows that stay in memory beyond their table's bound, since the disk takes no more, by shard",
    "lower",
)
TABLE_MEMORY_LEFT = define_metric(
    "table/memory_left",
    "Memory left",
    "1",
    "Share of the memory that a server's machine, or its container, has left, by shard of a job with embedding tables",
    "higher",
)
ROWS_MADE = define_metric("table/made", "Rows made", "rows", "Rows made so far, by shard: those of now and those evicted")
ROWS_EVICTED = define_metric("table/evicted", "Rows evicted", "rows", "Rows that shrinks have removed so far, by shard")
CANDIDATES_EVICTED = define_metric(
    "table/evicted_candidates", "Candidates evicted", "keys", "Candidates that shrinks have removed so far, by shard"
)
ROW_STALENESS = define_metric(
    "table/staleness",
    "Row staleness",
    "updates",
    "Updates of a row between its lookup and its push: mean over the applied keys since the point before, by shard",
    "lower",
)
ROW_STALENESS_HIGHEST = define_metric(
    "table/staleness_highest",
    "Highest row staleness",
    "updates",
    "Updates of a row between its lookup and its push: the most since the point before, by shard",
    "lower",
)
KEYS_APPLIED = define_metric("table/applied", "Keys applied", "keys", "Keys of pushes whose gradient made a step, by shard")
KEYS_COUNTED = define_metric("table/counted", "Keys counted", "keys", "Keys of pushes that have no row yet, by shard")
KEYS_MISSED = define_metric(
    "table/missed", "Keys missed", "keys", "Keys of pushes whose row was evicted since its lookup, by shard", "lower"
)
KEYS_DROPPED = define_metric(
    "table/dropped", "Keys dropped", "keys", "Keys of dropped pushes, and those for which a table was full, by shard", "lower"
)
KEYS_ASKED_LATE = define_metric(
    "table/asked_late",
    "Rows looked up late",
    "rows",
    "Rows that a worker looked up while its model waited, as no push had asked for them, by worker: of the mini-batches of a push",
    "lower",
)
ROWS_CACHED = define_metric(
    "table/cached", "Rows from the cache", "1", "Share of the rows that a worker used and had in its cache, by worker", "higher"
)


def rows_of_table(name: str) -> Metric:
    """Return the metric of one embedding table's rows. It is not in the catalogue, as the model names its tables."""
    return Metric(f"rows/{name}", f"Rows of {name}", "rows", f"Rows of the embedding table {name}, by shard")

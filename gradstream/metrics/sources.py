"""Metrics of data sources, and of exports."""

from __future__ import annotations

from gradstream.metrics.definition import define_metric

COMPARED_ROWS = define_metric(
    "data/compared_rows", "Evaluation rows compared", "rows", "Evaluation rows that were compared with training rows"
)
SHARED_ROWS = define_metric(
    "data/shared_rows",
    "Evaluation rows in the training data",
    "rows",
    "Evaluation rows, of those compared, that are training rows, too",
    "lower",
)
BEHIND = define_metric(
    "data/behind",
    "Examples behind",
    "samples",
    "Examples of a followed folder or stream that a worker has still to train, by worker",
    "lower",
)
EXPORTS_FAILED = define_metric("export/failed", "Failed exports", "exports", "Exports in a row not stored, by shard", "lower")
LEADERLESS = define_metric(
    "data/leaderless", "Leaderless partitions", "partitions", "Partitions of a followed topic without a leader, by worker", "lower"
)
UNREACHABLE = define_metric(
    "data/unreachable", "Source out of reach", "1", "1 while a worker cannot reach the stream or topic that it follows", "lower"
)
LATE_FILES = define_metric(
    "data/late_files", "Late files", "files", "Files that came into a followed folder too late to be read", "lower"
)

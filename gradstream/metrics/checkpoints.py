"""Metrics of checkpoints that are stored. They come from shard 0, with the number of the checkpoint as their step."""

from __future__ import annotations

from gradstream.metrics.definition import define_metric

CHECKPOINT_SECONDS = define_metric(
    "checkpoint/seconds",
    "Storing a checkpoint",
    "s",
    "Time from the copy of a checkpoint in the processes until all parts are stored and it is committed",
    "lower",
)
CHECKPOINTS_SKIPPED = define_metric(
    "checkpoint/skipped",
    "Skipped checkpoints",
    "checkpoints",
    "Checkpoints that were due while one was being stored, and were skipped",
    "lower",
)
STORED_CHECKPOINTS = (CHECKPOINT_SECONDS, CHECKPOINTS_SKIPPED)

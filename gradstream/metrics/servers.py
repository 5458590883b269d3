"""Metrics of servers, and the ledger: outcomes of pushes by worker."""

from __future__ import annotations

from gradstream.metrics.definition import define_metric

APPLY = define_metric(
    "server/apply", "Time to apply an entry", "s", "Time to decode and apply one entry of the log, by shard", "lower"
)
QUEUE = define_metric("server/queue", "Queued entries", "entries", "Entries of the log not handled yet, by shard", "lower")
BUSY = define_metric("server/busy", "Busy share", "1", "Share of the time that a shard worked, since its last report")
SLICE = define_metric("server/slice_bytes", "Slice size", "bytes", "Bytes of the slice of the center that a shard holds")
LARGEST = define_metric(
    "server/largest_bytes", "Largest parameter", "bytes", "Bytes of the largest parameter of a shard whose rule needs whole ones"
)
PUSHED = define_metric("ledger/pushed", "Pushes posted", "pushes", "Pushes posted so far, by worker")
APPLIED = define_metric("ledger/applied", "Pushes applied", "pushes", "Pushes applied so far, by worker")
DEFERRED = define_metric("ledger/deferred", "Pushes deferred", "pushes", "Pushes kept for a later step of the server, by worker")
PENDING = define_metric("ledger/pending", "Pushes pending", "pushes", "Pushes waiting for their round to close, by worker")
DROPPED = define_metric("ledger/dropped", "Pushes dropped", "pushes", "Pushes dropped, for any reason, by worker", "lower")
DROPPED_STALE = define_metric(
    "ledger/dropped_stale", "Pushes dropped: too stale", "pushes", "Pushes dropped because they were too stale, by worker", "lower"
)
DROPPED_QUORUM = define_metric(
    "ledger/dropped_quorum",
    "Pushes dropped: after the quorum",
    "pushes",
    "Pushes dropped because they came after the quorum, by worker",
    "lower",
)
DROPPED_NOT_FINITE = define_metric(
    "ledger/dropped_not_finite",
    "Pushes dropped: NaN or infinite",
    "pushes",
    "Pushes dropped because of a NaN or infinity, by worker",
    "lower",
)
DROPPED_SUPERSEDED = define_metric(
    "ledger/dropped_superseded",
    "Pushes dropped: from a replaced worker",
    "pushes",
    "Pushes dropped because a newer incarnation had replaced the worker, by worker",
    "lower",
)
ROLLED_BACK = define_metric(
    "ledger/rolled_back",
    "Pushes rolled back",
    "pushes",
    "Pushes rolled back by a return to an earlier checkpoint, by worker",
    "lower",
)
STARVED = define_metric(
    "ledger/starved",
    "Pushes dropped in a row",
    "pushes",
    "Pushes of a worker dropped in a row, when it was found never to contribute",
    "lower",
)
LEDGER = (PUSHED, APPLIED, DEFERRED, DROPPED, PENDING)
"""Outcomes of a worker's pushes: the first is the sum of the others."""
REASONS = (DROPPED_STALE, DROPPED_QUORUM, DROPPED_NOT_FINITE, DROPPED_SUPERSEDED)
"""Why pushes of a worker were dropped: `DROPPED` is the sum of these. One that is 0 is not reported."""

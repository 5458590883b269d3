"""The catalogue of metrics: every name that is emitted, stored, drawn or exported is defined here, once.

Emitters, API, chart axes and the Parquet export read it. Users' own evaluation metrics are `eval/<key>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Better = Literal["lower", "higher", "neither"]
FORMULA = r"^[=+@\t\r-]"
"""How a name begins that a spreadsheet takes for a formula when it reads CSV: there it gets an apostrophe."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    unit: str
    meaning: str
    better: Better = "neither"


LOSS = Metric("train/loss", "loss", "Mini-batch loss before the step, by worker", "lower")
STALENESS = Metric("train/staleness", "updates", "Changes of the center between a push's pull and its application", "lower")
STALENESS_SECONDS = Metric(
    "train/staleness_seconds", "s", "Time for which a push's base had not been the newest center when it was applied", "lower"
)
BASE_DISTANCE = Metric(
    "train/base_distance", "1", "L2 norm of the center just before a push is applied minus its base, of a sample of pushes", "lower"
)
THROUGHPUT = Metric(
    "train/samples_per_second",
    "samples/s",
    "Samples trained per second, in the last 5 s or 4 pushes, by worker",
    "higher",
)
COMPUTE = Metric("time/compute", "s", "Time per push spent on gradients and local steps, by worker", "lower")
WAIT = Metric("time/wait", "s", "Time per push spent waiting for answers and at the gate, by worker", "lower")
SEND = Metric("time/send", "s", "Time per push spent on copying, encoding and sending it, by worker", "lower")
DATA = Metric("time/data", "s", "Time per push spent waiting for mini-batches, by worker", "lower")
NORM = Metric("push/norm", "1", "L2 norm of the pushed direction, by worker")
CODEC_ERROR = Metric("push/error", "1", "What a lossy codec has not sent yet, over what was pushed (L2 norms), by worker", "lower")
SENT = Metric("push/sent_bytes", "bytes", "Bytes of vectors sent since the last push, by worker", "lower")
RAW = Metric("push/raw_bytes", "bytes", "Bytes that the sent vectors have without a codec, since the last push, by worker")
RECEIVED = Metric("push/received_bytes", "bytes", "Bytes of vectors received since the last push, by worker", "lower")
APPLY = Metric("server/apply", "s", "Time to decode and apply one entry of the log, by shard", "lower")
QUEUE = Metric("server/queue", "entries", "Entries of the log not handled yet, by shard", "lower")
BUSY = Metric("server/busy", "1", "Share of the time that a shard worked, since its last report")
SLICE = Metric("server/slice_bytes", "bytes", "Bytes of the slice of the center that a shard holds")
NO_ROOM = Metric("worker/no_room", "bytes", "Shared memory that a worker did not get, so its vectors go through Redis", "lower")
ASKED_AGAIN = Metric(
    "plane/asked_again", "requests", "Vectors and letters that came damaged and were asked for again, so far, by process", "lower"
)  # fmt: skip
ON_CORE = Metric(
    "time/on_core", "1", "Share of the time of a mini-batch for which its worker ran on a processor core, of a sample, by worker",
    "higher",
)  # fmt: skip
SHARED_ROWS = Metric("data/shared_rows", "rows", "Evaluation rows, of those compared, that are training rows, too", "lower")
COMPARED_ROWS = Metric("data/compared_rows", "rows", "Evaluation rows that were compared with training rows")
CPU = Metric("system/cpu", "cores", "Processor cores that a process took, by process", "lower")
MEMORY = Metric("system/memory", "bytes", "Memory that a process holds, by process", "lower")
CORES = Metric("system/cores", "cores", "Physical processor cores that a worker may use, by worker")
GPU = Metric("system/gpu", "1", "Share of the time that a process's GPU worked, by process", "higher")
GPU_MEMORY = Metric("system/gpu_memory", "bytes", "Memory taken on a process's GPU, by process", "lower")
TOTAL = Metric("train/total_samples", "samples", "Samples the job will train in all, if it is not stopped")
EPOCH = Metric("train/epoch_samples", "samples", "Samples of one pass of all workers over the training data")
SHARE = Metric("train/share", "mini-batches", "Mini-batches that a worker trains in all, if it is not stopped, by worker")
ACTIVE = Metric("train/active", "1", "1 from when a worker takes part, 0 from when it has left for good, by worker")
PUSHED = Metric("ledger/pushed", "pushes", "Pushes posted so far, by worker")
APPLIED = Metric("ledger/applied", "pushes", "Pushes applied so far, by worker")
BUFFERED = Metric("ledger/buffered", "pushes", "Pushes kept for a later step of the server, by worker")
DROPPED = Metric("ledger/dropped", "pushes", "Pushes dropped, for any reason, by worker", "lower")
DROPPED_STALE = Metric("ledger/dropped_stale", "pushes", "Pushes dropped because they were too stale, by worker", "lower")
DROPPED_QUORUM = Metric("ledger/dropped_quorum", "pushes", "Pushes dropped because they came after the quorum, by worker", "lower")
DROPPED_NOT_FINITE = Metric(
    "ledger/dropped_not_finite", "pushes", "Pushes dropped because of a NaN or infinity, by worker", "lower"
)
DROPPED_SUPERSEDED = Metric(
    "ledger/dropped_superseded", "pushes", "Pushes dropped because a newer incarnation had replaced the worker, by worker", "lower"
)
PENDING = Metric("ledger/pending", "pushes", "Pushes waiting for their round to close, by worker")
UNDONE = Metric("ledger/undone", "pushes", "Pushes undone by a return to an earlier cut, by worker", "lower")
SILENT = Metric("ledger/silent", "pushes", "Pushes of a worker dropped in a row, when it was found never to contribute", "lower")
EVAL_LOSS = Metric("eval/loss", "loss", "Loss of the center on the evaluation split", "lower")
EVAL_ACCURACY = Metric("eval/accuracy", "1", "Share of the evaluation split that the center classifies correctly", "higher")

CATALOGUE: dict[str, Metric] = {
    m.name: m
    for m in (LOSS, STALENESS, STALENESS_SECONDS, BASE_DISTANCE, THROUGHPUT, COMPUTE, WAIT, SEND, DATA, ON_CORE, NORM, CODEC_ERROR,
              SENT, RAW, RECEIVED, APPLY, QUEUE, BUSY, SLICE, NO_ROOM, ASKED_AGAIN, SHARED_ROWS, COMPARED_ROWS,
              CPU, CORES, MEMORY, GPU, GPU_MEMORY, TOTAL,
              EPOCH, SHARE, ACTIVE, PUSHED, APPLIED, BUFFERED, DROPPED, DROPPED_STALE, DROPPED_QUORUM, DROPPED_NOT_FINITE,
              DROPPED_SUPERSEDED, PENDING, UNDONE, SILENT, EVAL_LOSS, EVAL_ACCURACY)
}  # fmt: skip

LEDGER = (PUSHED, APPLIED, BUFFERED, DROPPED, PENDING)
"""What became of the pushes of a worker: the first is the sum of the others."""
REASONS = (DROPPED_STALE, DROPPED_QUORUM, DROPPED_NOT_FINITE, DROPPED_SUPERSEDED)
"""Why pushes of a worker were dropped: `DROPPED` is the sum of these. One that is 0 is not reported."""


class Point(NamedTuple):
    """One measured value. `source` (who measured) stands once per batch, not here."""

    name: str
    rank: int
    """The worker it is about; -1 where it is about none (evaluator, shard)."""
    step: int
    """Mini-batches of that worker (worker metrics), or pushes handled (server metrics)."""
    samples: int
    """Samples whose updates the center had seen; for the loss of a mini-batch, those of its worker since then count too."""
    version: int
    time: float
    """Seconds since the epoch, clock of the emitter."""
    value: float

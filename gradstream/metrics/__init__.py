"""The catalogue of metrics: every name that is emitted, stored, drawn or exported is defined here, once.

Emitters, API, chart axes and the Parquet export read it. Users' own evaluation metrics are `eval/<key>`,
and the values that their workloads log are `user/<name>`.
"""

from __future__ import annotations

from gradstream.metrics.definition import CATALOGUE as CATALOGUE
from gradstream.metrics.definition import FORMULA as FORMULA
from gradstream.metrics.definition import Better as Better
from gradstream.metrics.definition import Metric as Metric
from gradstream.metrics.definition import define_metric as define_metric
from gradstream.metrics.figures import define_figures
from gradstream.metrics.point import Point as Point

LOSS = define_metric("train/loss", "Training loss", "loss", "Mini-batch loss before the step, by worker", "lower")
STALENESS = define_metric(
    "train/staleness", "Staleness", "updates", "Changes of the center between a push's pull and its application", "lower"
)
THROUGHPUT = define_metric(
    "train/samples_per_second",
    "Throughput",
    "samples/s",
    "Samples trained per second, in the last 5 s or 4 pushes, by worker",
    "higher",
)
STALENESS_SECONDS = define_metric(
    "train/staleness_seconds",
    "Staleness in seconds",
    "s",
    "Time for which a push's base had not been the newest center when it was applied",
    "lower",
)
BASE_DISTANCE = define_metric(
    "train/base_distance",
    "Distance to the center",
    "1",
    "L2 norm of the center just before a push is applied minus its base, of a sample of pushes",
    "lower",
)
LOSS_SCALE = define_metric("train/loss_scale", "Loss scale", "1", "Factor on the loss in float16, by worker", drawn=False)
OVERFLOWS = define_metric("train/overflows", "Overflows", "mini-batches", "Overflows in float16 so far, by worker", drawn=False)
TOTAL = define_metric(
    "train/total_samples", "Total samples", "samples", "Samples that the whole job trains, unless it is stopped", drawn=False
)
EPOCH = define_metric(
    "train/epoch_samples", "Samples of an epoch", "samples", "Samples of one pass of all workers over the data", drawn=False
)
SHARE = define_metric(
    "train/share",
    "Total mini-batches",
    "mini-batches",
    "Mini-batches of a worker in the whole job, unless it is stopped; their mean if they are dealt",
    drawn=False,
)
ACTIVE = define_metric(
    "train/active", "Worker participates", "1", "1 while a worker takes part, 0 after it has left for good, by worker", drawn=False
)
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


EVAL_ACCURACY = define_metric(
    "eval/accuracy", "Eval accuracy", "1", "Share of the evaluation split that the center classifies correctly", "higher"
)
EVAL_LOSS = define_metric("eval/loss", "Eval loss", "loss", "Loss of the center on the evaluation split", "lower")

OBSERVED = define_figures("train", "Training", "the last 100,000 examples that workloads observed, each before its step")
PASSED = define_figures("pass", "Pass:", "all examples of a pass over the data, each predicted before its step")
EVALUATED = define_figures("eval", "Eval", "the whole evaluation split")
COMPUTE = define_metric("time/compute", "Compute time", "s", "Time per push spent on gradients and local steps, by worker", "lower")
DATA = define_metric("time/data", "Data time", "s", "Time per push spent waiting for mini-batches, by worker", "lower")
PEER_WAIT = define_metric(
    "time/peer_wait", "Peer wait time", "s", "Part of the compute time spent waiting for the other processes of a group", "lower"
)
PEER_COMPUTE = define_metric(
    "peer/compute",
    "Compute share of a peer",
    "1",
    "Share of its worker's compute time for which a process of a group computed; in the rest it waited for the others, by peer",
    "higher",
)
PEER_CPU = define_metric("peer/cpu", "CPU of a peer", "cores", "Processor cores that a process of a group took, by peer", "lower")
PEER_MEMORY = define_metric("peer/memory", "Private memory of a peer", "bytes", "Memory of a peer that no other shares", "lower")
PEER_GPU_MEMORY = define_metric("peer/gpu_memory", "GPU memory of a peer", "bytes", "Its largest use of GPU memory so far", "lower")
SEND = define_metric("time/send", "Send time", "s", "Time per push spent on copying, encoding and sending it, by worker", "lower")
WAIT = define_metric("time/wait", "Wait time", "s", "Time per push spent waiting for responses and at the gate, by worker", "lower")
ON_CORE = define_metric(
    "time/on_core",
    "Share of compute time on a core",
    "1",
    "Share of the time of a mini-batch for which its worker ran on a processor core, of a sample, by worker",
    "higher",
)
NORM = define_metric("push/norm", "Push norm", "1", "L2 norm of the pushed direction, by worker")
CODEC_ERROR = define_metric(
    "push/error", "Codec error", "1", "L2 norm of a lossy codec's residual over that of the push, by worker", "lower"
)
SENT = define_metric("push/sent_bytes", "Bytes sent", "bytes", "Bytes of vectors sent since the last push, by worker", "lower")
RAW = define_metric(
    "push/raw_bytes",
    "Bytes without the codec",
    "bytes",
    "Bytes that the sent vectors have without a codec, since the last push, by worker",
)
RECEIVED = define_metric(
    "push/received_bytes", "Bytes received", "bytes", "Bytes of vectors received since the last push, by worker", "lower"
)
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
SHARED_MEMORY_SHORTFALL = define_metric(
    "worker/shared_memory_shortfall",
    "Shared-memory shortfall",
    "bytes",
    "Shared memory that a worker did not get, so its vectors go through Redis",
    "lower",
)
LOG_DROPPED = define_metric(
    "worker/log_dropped",
    "Logged values dropped",
    "values",
    "Values that a workload has logged under too many names, and that were dropped, by process",
    "lower",
)
RETRANSMISSIONS = define_metric(
    "plane/retransmissions",
    "Retransmissions",
    "requests",
    "Damaged vectors and messages that a process has had resent so far, by process",
    "lower",
)
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
CPU = define_metric("system/cpu", "CPU", "cores", "Processor cores that a process took, by process", "lower")
CORES = define_metric(
    "system/cores", "Usable cores", "cores", "Physical processor cores that a worker may use, by worker", drawn=False
)
MEMORY = define_metric("system/memory", "Memory", "bytes", "Memory that a process holds, by process", "lower")
GPU = define_metric("system/gpu", "GPU", "1", "Share of the time that a process worked on its GPUs, by process", "higher")
GPU_MEMORY = define_metric("system/gpu_memory", "GPU memory", "bytes", "Memory that a process has on its GPUs, by process", "lower")

LEDGER = (PUSHED, APPLIED, DEFERRED, DROPPED, PENDING)
"""Outcomes of a worker's pushes: the first is the sum of the others."""
REASONS = (DROPPED_STALE, DROPPED_QUORUM, DROPPED_NOT_FINITE, DROPPED_SUPERSEDED)
"""Why pushes of a worker were dropped: `DROPPED` is the sum of these. One that is 0 is not reported."""
from gradstream.metrics.awaited import AWAITED as AWAITED  # noqa: E402
from gradstream.metrics.checkpoints import STORED_CHECKPOINTS as STORED_CHECKPOINTS  # noqa: E402
from gradstream.metrics.dealt import DEALT as DEALT  # noqa: E402  # pages list metrics in the order of their definition
from gradstream.metrics.media import MEDIA as MEDIA  # noqa: E402
from gradstream.metrics.media import MEDIA_DROPPED as MEDIA_DROPPED  # noqa: E402
from gradstream.metrics.named import NAMED as NAMED  # noqa: E402

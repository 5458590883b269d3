"""Metrics of a push: its time, its size, and the processes of a group that make it together."""

from __future__ import annotations

from gradstream.metrics.definition import define_metric

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

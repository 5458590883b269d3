"""Metrics of processes: what they log, lack and take of their machine."""

from __future__ import annotations

from gradstream.metrics.definition import define_metric

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
CPU = define_metric("system/cpu", "CPU", "cores", "Processor cores that a process took, by process", "lower")
CORES = define_metric(
    "system/cores", "Usable cores", "cores", "Physical processor cores that a worker may use, by worker", drawn=False
)
MEMORY = define_metric("system/memory", "Memory", "bytes", "Memory that a process holds, by process", "lower")
GPU = define_metric("system/gpu", "GPU", "1", "Share of the time that a process worked on its GPUs, by process", "higher")
GPU_MEMORY = define_metric("system/gpu_memory", "GPU memory", "bytes", "Memory that a process has on its GPUs, by process", "lower")

"""The GPUs of this machine, asked from the driver (NVML). Nothing here, and nothing in the zygote, initialises CUDA."""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import structlog

log = structlog.get_logger(__name__)

_LATELY = 4.0
"""Seconds of the driver's samples that count: two looks."""


@dataclass(frozen=True, slots=True)
class Gpu:
    index: int
    name: str
    memory: int
    """Bytes."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@functools.cache
def _driver() -> bool:
    """Return whether there is one. It is opened once, for as long as the agent runs."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:  # also when there is no driver library at all
        log.info("no GPU here", why=str(error))
        return False
    return True


@functools.cache
def inventory() -> list[Gpu]:
    """Looked up once. In the driver's order, which is also that of CUDA_VISIBLE_DEVICES under CUDA_DEVICE_ORDER=PCI_BUS_ID."""
    import pynvml

    if not _driver():
        return []
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    return [
        Gpu(index, pynvml.nvmlDeviceGetName(handle), int(pynvml.nvmlDeviceGetMemoryInfo(handle).total))
        for index, handle in enumerate(handles)
    ]


def usage(indices: Sequence[int], pids: Collection[int], *, alone: bool) -> tuple[float | None, int | None]:
    """Return the share of the time that these processes worked on their GPUs, lately, and the bytes that they have there. A driver
    that does not know single processes tells of the whole GPU, which counts if they are `alone` there. (None, None): unknown."""
    import pynvml

    if not indices or not _driver():
        return None, None
    try:
        found = [_usage_of(pynvml.nvmlDeviceGetHandleByIndex(index), pids, alone) for index in indices]
    except pynvml.NVMLError as error:
        log.info("a GPU does not tell of its use", gpus=list(indices), why=str(error))
        return None, None
    worked, taken = [each for each, _ in found if each is not None], [each for _, each in found if each is not None]
    return (sum(worked) / len(indices) if worked else None), (sum(taken) if taken else None)


def _usage_of(handle: Any, pids: Collection[int], alone: bool) -> tuple[float | None, int | None]:
    import pynvml

    taken = _taken(handle, pids)
    if taken is None and not alone:
        return None, None
    worked = _worked(handle, pids) if taken is not None else None
    if worked is None and alone:
        worked = pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
    return worked, int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) if taken is None else taken


def _taken(handle: Any, pids: Collection[int]) -> int | None:
    """Return the bytes of these processes; None: the driver knows none of them, or not their memory."""
    import pynvml

    try:
        there = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    except pynvml.NVMLError:
        return None
    own = [process.usedGpuMemory for process in there if process.pid in pids]
    return sum(own) if own and None not in own else None


def _worked(handle: Any, pids: Collection[int]) -> float | None:
    """Return the share of the last seconds that kernels of these processes ran; None: the driver keeps no such samples."""
    import pynvml

    since = int((time.time() - _LATELY) * 1e6)
    try:
        samples = pynvml.nvmlDeviceGetProcessUtilization(handle, since)
    except pynvml.NVMLError as error:
        return 0.0 if getattr(error, "value", None) == pynvml.NVML_ERROR_NOT_FOUND else None  # no kernel ran
    by_pid: dict[int, list[int]] = defaultdict(list)
    for sample in samples:
        if sample.pid in pids and sample.timeStamp >= since:
            by_pid[sample.pid].append(sample.smUtil)
    return min(1.0, sum(sum(each) / len(each) for each in by_pid.values()) / 100)

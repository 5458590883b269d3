"""The GPUs of this machine, asked from the driver (NVML). Nothing here, and nothing in the zygote, initialises CUDA."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from typing import Any

import structlog

log = structlog.get_logger(__name__)


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


def usage(index: int | None) -> tuple[float | None, int | None]:
    """Return the share of the time that one GPU worked, lately, and the bytes taken on it. (None, None): it is not known."""
    import pynvml

    if index is None or not _driver():
        return None, None
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        worked = pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
        return worked, int(pynvml.nvmlDeviceGetMemoryInfo(handle).used)
    except pynvml.NVMLError as error:
        log.info("a GPU does not tell of its use", gpu=index, why=str(error))
        return None, None

"""The GPUs that this program may use, asked from the driver (NVML): nothing here initializes CUDA, which survives no fork."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from gradstream.process.gpus.torch_build import torch_build

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UsableGpus:
    indices: tuple[int, ...] = ()
    """In the driver's order, as in `ProcessOrder.gpus`."""
    obstacle: str = ""
    """Why torch uses none of those that there are, and a remedy."""


def usable_gpus(visible: str | None) -> UsableGpus:
    """Return the GPUs of this machine that torch can use. `visible`: CUDA_VISIBLE_DEVICES of this program."""
    found = select_visible(_uuids(), visible)
    build = torch_build()
    if found and build is not None and build.cuda is None:
        return UsableGpus(obstacle=f"torch {build.version} has no CUDA; install a torch with CUDA")
    return UsableGpus(tuple(found))


def select_visible(uuids: Sequence[str], visible: str | None) -> list[int]:
    """Return the indices of the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order, as CUDA reads it: numbers or beginnings of
    UUIDs, up to the first that names none. `uuids`: of all GPUs. None: it is not set."""
    if visible is None:
        return list(range(len(uuids)))
    found = list[int]()
    for entry in visible.split(","):
        name = entry.strip()
        same = [index for index, uuid in enumerate(uuids) if (str(index) == name or (name[:4] == "GPU-" and uuid.startswith(name)))]
        if len(same) != 1 or same[0] in found:
            break
        found += same
    return found


def _uuids() -> list[str]:
    import pynvml

    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        return [str(pynvml.nvmlDeviceGetUUID(handle)) for handle in handles]
    except pynvml.NVMLError as error:  # also when there is no driver library at all
        log.info("no GPU here: %s", error)
        return []

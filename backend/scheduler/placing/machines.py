"""The machines on which jobs are placed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import UUID

from gradstream.spec.roles import Roles, WorkerRole
from gradstream.spec.values import GPU_TICKS


class Placeable(Protocol):
    """A job, as far as its places depend on it: a `JobSpec`, or the kept part of one."""

    @property
    def roles(self) -> Roles: ...

    @property
    def network(self) -> str: ...

    @property
    def spreads(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Machine:
    """A ready node and what is free on it."""

    id: UUID
    name: str
    slots: int
    """All slots; the free ones are `free_slots`."""
    free_slots: tuple[int, ...]
    gpus: int = 0
    free_ticks: Mapping[int, int] = field(default_factory=dict)
    """Free parts of each GPU, of 60; a GPU without any need not be in it."""
    draining: bool = False
    """Nothing new is placed on it, whatever is free."""
    trouble: str | None = None
    """Why nothing new is placed on it for now, beside draining."""
    isolates_network: bool = False
    """True if it can keep a job from all but the data plane and the API."""
    cuts_network: bool = False
    """True if it keeps every job from all but the data plane and the API."""
    gpu_memory: Mapping[int, int] = field(default_factory=dict)
    """Bytes of each GPU; a GPU that is not in it has unknown memory."""

    gpus_before: tuple[int, ...] = ()
    """The GPUs that the process which starts again had there, one for each of its processes; they are taken first."""
    gpu_obstacle: str = ""
    """Why jobs cannot use the GPUs that it has, which are not counted then, and a remedy; empty: they can, or it has none."""

    @property
    def every_gpu(self) -> list[int]:
        return list(self.gpu_memory) or list(range(self.gpus))

    @property
    def emptied(self) -> Machine:
        """The machine as it is when nothing runs there."""
        return replace(self, free_slots=tuple(range(self.slots)), free_ticks=dict.fromkeys(self.every_gpu, GPU_TICKS))

    def free_shares(self, share: int, beside: Collection[int] = ()) -> list[int]:
        """Return the GPU of each free share of 1/`share`: `gpus_before` first, then those of `beside`, then the fullest: whole ones
        stay free."""
        ordered = sorted(self.free_ticks, key=lambda gpu: (gpu not in beside, self.free_ticks[gpu]))
        others, again = [gpu for gpu in ordered for _ in range(self.free_ticks[gpu] * share // GPU_TICKS)], list[int]()
        for gpu in self.gpus_before:
            if gpu in others:
                others.remove(gpu)
                again.append(gpu)
        return again + others

    def count_fitting(self, worker: WorkerRole) -> int:
        """Return the workers that fit on what is free, each with a slot and, if it must have them, its GPUs."""
        if worker.effective_device != "cuda":
            return len(self.free_slots)
        return min(len(self.free_slots), len(self.free_shares(worker.gpu_share)) // worker.gpu_processes)

    def without(self, slots: Collection[int | None], gpus: Iterable[tuple[int, int]]) -> Machine:
        """Return the machine with fewer free places. `gpus`: GPUs and ticks that are taken of each."""
        ticks = dict(self.free_ticks)
        for gpu, taken in gpus:
            ticks[gpu] = ticks.get(gpu, 0) - taken
        return replace(self, free_slots=tuple(slot for slot in self.free_slots if slot not in slots), free_ticks=ticks)

    def large_enough(self, gpus: Sequence[int], needed: int) -> list[int]:
        return [gpu for gpu in gpus if self.gpu_memory.get(gpu, needed) >= needed]


def groups_fit(groups: int, machines_each: int, slots: Sequence[int]) -> bool:
    """Return whether each of these groups can have a slot on as many different machines. `slots`: of each machine."""
    return sum(min(count, groups) for count in slots) >= groups * machines_each


def suitable_machines(spec: Placeable, machines: Sequence[Machine]) -> Sequence[Machine]:
    """Return the machines that offer the isolation which the job takes."""
    return [machine for machine in machines if machine.isolates_network] if spec.network == "platform" else machines


def open_machines(machines: Sequence[Machine]) -> list[Machine]:
    return [machine for machine in machines if not machine.draining and machine.trouble is None]

"""The machines on which jobs are placed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from gradstream.spec.roles import Roles


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
    free_gpus: tuple[int, ...] = ()
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

    @property
    def every_gpu(self) -> list[int]:
        return list(self.gpu_memory) or list(range(self.gpus))

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

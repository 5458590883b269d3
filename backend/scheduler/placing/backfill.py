"""Backfill: a job starts before another one that waits, on places that the other could never use. Pure.

A running job has no known end. So the part of a machine that a waiting job could use, if nothing else ran there, stays free for it
(docs/adr/0149-backfill-takes-only-places-without-use.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backend.scheduler.placing.machines import Machine, Placeable, suitable_machines


@dataclass(frozen=True, slots=True)
class Reservation:
    """A part of one machine."""

    slots: int = 0
    gpus: bool = False
    """All of its GPUs."""

    def joined_with(self, other: Reservation) -> Reservation:
        """Return what both jobs together could use: those that need GPUs take a slot for each of the same GPUs."""
        return Reservation(max(self.slots, other.slots), self.gpus or other.gpus)

    def taken_from(self, machine: Machine) -> Machine:
        """Return the machine with as many fewer free places."""
        slots = max(0, len(machine.free_slots) - self.slots)
        return replace(machine, free_slots=machine.free_slots[:slots], free_ticks={} if self.gpus else machine.free_ticks)


def reservations(spec: Placeable, machines: Sequence[Machine]) -> list[Reservation]:
    """Return what the job could use of each machine, if nothing else ran there."""
    worker, server = spec.roles.worker, spec.roles.server
    suitable = {machine.id for machine in suitable_machines(spec, machines) if _may_hold(spec, machine)}
    takes_gpus = worker.effective_device != "cpu" or server.device != "cpu"
    return [
        Reservation(_slots(spec, machine), takes_gpus and machine.gpus > 0) if machine.id in suitable else Reservation()
        for machine in machines
    ]


def _slots(spec: Placeable, machine: Machine) -> int:
    return machine.emptied.count_fitting(spec.roles.worker)


def _may_hold(spec: Placeable, machine: Machine) -> bool:
    """Return whether a process of the job can ever be on this machine: workers may need a network, or one machine for all."""
    if spec.roles.worker.group.machines > 1 or spec.roles.server.collective in ("gloo", "nccl"):
        return not machine.cuts_network
    if not spec.roles.serverless or _slots(spec, machine) >= spec.roles.worker.count:
        return True
    return spec.spreads and not machine.cuts_network

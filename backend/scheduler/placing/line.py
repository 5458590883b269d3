"""The turn of each waiting job. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from backend.scheduler.placing.backfill import Reservation, reservations
from backend.scheduler.placing.machines import Machine, Placeable
from backend.scheduler.placing.placement import Place, place, without_places
from backend.scheduler.placing.shortages import Shortage


@dataclass(frozen=True, slots=True)
class Waits:
    shortage: Shortage
    position: int
    """Place in the queue, from 1."""


class QueueLine:
    """One look at the queue: jobs come in their order, and each gets its places or a reason why it waits.

    A job overtakes one that waits for free places only on places that the other could never use (`backfill`), so small jobs do not
    starve a large one. A job that could never fit on the available machines holds up no other."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self._machines = list(machines)
        self.gave = False
        """Some job got its places."""
        self._waiting = 0
        self._reserved = [Reservation()] * len(self._machines)
        """Parts of each machine, for the jobs that wait so far."""
        self._reserving = set[Hashable]()
        self._plans = dict[Hashable, tuple[Place, ...] | Shortage]()
        """For the machines as they are now: most jobs of a long queue need the same. A shortage stays one when more is reserved."""

    def next(self, spec: Placeable, shard_takes: int = 0) -> tuple[Place, ...] | Waits:
        """Take and return the places of the job that is next in the order, or return why it waits. `shard_takes`: see `place`."""
        key = _key(spec, shard_takes)
        if key not in self._plans:
            self._plans[key] = self._plan(spec, shard_takes)
        plan = self._plans[key]
        if isinstance(plan, tuple):
            self._machines = without_places(self._machines, plan)
            self._plans.clear()
            self.gave = True
            return plan
        self._waiting += 1
        if plan.passes_by_itself and key not in self._reserving:
            self._reserve(spec)
            self._reserving.add(key)
        return Waits(plan, self._waiting)

    def _plan(self, spec: Placeable, shard_takes: int) -> tuple[Place, ...] | Shortage:
        plan = place(spec, self._machines, shard_takes)
        if isinstance(plan, Shortage) or not self._reserving:
            return plan
        left = [reserved.taken_from(machine) for reserved, machine in zip(self._reserved, self._machines, strict=True)]
        plan = place(spec, left, shard_takes)
        return Shortage("behind", "Waits for its turn behind other jobs.") if isinstance(plan, Shortage) else plan

    def _reserve(self, spec: Placeable) -> None:
        both = zip(self._reserved, reservations(spec, self._machines), strict=True)
        self._reserved = [reserved.joined_with(other) for reserved, other in both]


def _key(spec: Placeable, shard_takes: int) -> Hashable:
    """Return all that the places of a job depend on."""
    worker, server = spec.roles.worker, spec.roles.server
    kinds = spec.network, worker.effective_device, server.device, server.collective, spec.spreads
    shares = worker.gpu_share, spec.roles.shard_gpu_share
    return kinds, worker.count, shares, worker.gpu_processes, worker.group.machines, server.count, shard_takes

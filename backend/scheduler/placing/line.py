"""The turn of each waiting job. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

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

    No job overtakes one that waits for free slots, so small jobs do not starve a large one. A job that could never fit on the
    available machines holds up no other."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self._machines = list(machines)
        self.gave = False
        """Some job got its places."""
        self._waiting = 0
        self._blocked = False
        self._plans: dict[Hashable, tuple[Place, ...] | Shortage] = {}
        """For the machines as they are now: most jobs of a long queue need the same."""

    def next(self, spec: Placeable, shard_takes: int = 0) -> tuple[Place, ...] | Waits:
        """Take and return the places of the job that is next in the order, or return why it waits. `shard_takes`: see `place`."""
        plan = self._plan(spec, shard_takes)
        if isinstance(plan, tuple) and not self._blocked:
            self._machines = without_places(self._machines, plan)
            self._plans.clear()
            self.gave = True
            return plan
        self._waiting += 1
        shortage = plan if isinstance(plan, Shortage) else Shortage("behind", "Waits for its turn behind other jobs.")
        self._blocked = self._blocked or shortage.passes_by_itself
        return Waits(shortage, self._waiting)

    def _plan(self, spec: Placeable, shard_takes: int) -> tuple[Place, ...] | Shortage:
        worker, server = spec.roles.worker, spec.roles.server
        kinds = spec.network, worker.effective_device, server.device, server.collective, spec.spreads
        key = kinds, worker.count, worker.group.machines, server.count, shard_takes
        if key not in self._plans:
            self._plans[key] = place(spec, self._machines, shard_takes)
        return self._plans[key]

"""The smallest change of a planned job that fits into the memory of the machines that are there. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from backend.jobs.warnings import warnings_of
from backend.scheduler.placing.machines import Machine
from backend.scheduler.placing.placement import Place, collective_of, place
from backend.scheduler.planning.machine_memory import (
    PlannedMachine,
    memory_of,
    memory_of_places,
    warnings_on_machines,
)
from gradstream.advise import forecast
from gradstream.advise.smaller import Change, smallest_change
from gradstream.api.plan import MeasuredSize, NodeMemory, PlannedChange, Size
from gradstream.process.order import label
from gradstream.spec import JobSpec


@dataclass(frozen=True, slots=True)
class Fitting:
    """A job that does not fit, where it would be."""

    spec: JobSpec
    size: Size
    shards: int
    """Servers that the platform chooses for `auto`."""
    places: Sequence[Place]
    free: Sequence[Machine]
    machines: Mapping[UUID, PlannedMachine]

    def propose(self, confirms: Callable[[JobSpec], bool]) -> PlannedChange:
        """`confirms`: plans a changed job once more, behind the queue. Few are asked, as it takes long."""
        found = smallest_change(self.spec, self.size, lambda change: self._fits(change) and confirms(change.spec))
        measured = isinstance(self.size, MeasuredSize) and self.size.activations is not None
        hint = (
            "" if measured else " `gradstream submit --plan --measure` also knows blocks and activations, and may find another one."
        )
        if found is None:
            return PlannedChange(lines=[], message=f"No known change of the job file fits. {self._largest_part()}{hint}")
        fullest = max(self._memory(found.spec), key=lambda each: each.needed / each.total)
        where = fullest.node if fullest.gpu is None else f"GPU {fullest.gpu} of {fullest.node}"
        amounts = f"{_gigabytes(fullest.needed)} of {_gigabytes(fullest.total)}"
        lines = "this line in place of the one" if len(found.lines) == 1 else "these lines in place of those"
        told = f"The job fits with {lines} of the same name: the fullest is then {where}, with {amounts}."
        return PlannedChange(lines=found.lines, message=told + hint)

    def _fits(self, change: Change) -> bool:
        places = self._places(change.spec)
        if not places or (_on_gpus(self.places) and not _on_gpus(places) and not change.leaves_gpus):
            return False
        nodes = memory_of(self._settled(change.spec, places), self.size, places, self.machines)
        if any(each.needed > each.total for each in nodes):
            return False
        new = [*warnings_of(change.spec), *warnings_on_machines(change.spec, self.size, places, self.machines)]
        old = [*warnings_of(self.spec), *warnings_on_machines(self.spec, self.size, self.places, self.machines)]
        return {each.pointer for each in new} <= {each.pointer for each in old}

    def _places(self, spec: JobSpec) -> tuple[Place, ...]:
        """Return its places now, or if nothing else ran; none, if it does not fit there."""
        spec = spec.with_shards(self.shards) if spec.roles.server.count == "auto" else spec
        for machines in (self.free, [machine.emptied for machine in self.free]):
            takes = 0 if spec.roles.server.device == "cpu" else forecast.shard_on_gpu(spec, self.size).gpu
            found = place(spec, machines, takes)
            if isinstance(found, tuple):
                return found
        return ()

    def _settled(self, spec: JobSpec, places: Sequence[Place]) -> JobSpec:
        """Return the job with all that `auto` leaves to the platform."""
        if spec.roles.server.count == "auto":
            return spec.with_shards(self.shards)
        return spec.with_collective(collective_of(spec, places)) if spec.roles.serverless else spec

    def _memory(self, spec: JobSpec) -> list[NodeMemory]:
        places = self._places(spec)
        return memory_of(self._settled(spec, places), self.size, places, self.machines)

    def _largest_part(self) -> str:
        spec = self._settled(self.spec, self.places)
        takes = memory_of_places(spec, self.size, self.places)
        each, most = max(zip(self.places, takes, strict=True), key=lambda pair: max(pair[1].host, pair[1].gpu))
        kept = forecast.memory(spec, self.size).activations or 0
        inside = f", {_gigabytes(kept)} of it activations" if kept and each.role in ("worker", "peers") else ""
        where = "of a GPU" if most.gpu > most.host else f"of {each.node}"
        return f"The largest part is {label(each.role, each.rank)}, with {_gigabytes(max(most.host, most.gpu))} {where}{inside}."


def _on_gpus(places: Sequence[Place]) -> bool:
    return any(each.gpus for each in places if each.role == "worker")


def _gigabytes(nbytes: int) -> str:
    return f"{nbytes / 1e9:.1f} GB"

"""Where the processes of a job go: all of them, or none; and whose turn it is. Pure: jobs and free places in, plans or
shortages out.

A worker takes one slot, and one GPU if it computes on one. Servers and the evaluator ride beside the workers: they take no
slot, and lie on the machines that have workers, so that a small job stays on one machine. A server whose device is `cuda` takes a
GPU, too; with `auto` it gets one that the workers leave over beside it. Where it is known how much a shard takes on a GPU, one
that has less is none for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import UUID

from gradstream.process.order import Role
from gradstream.spec import JobSpec
from gradstream.spec.roles import Roles


class HasRoles(Protocol):
    """A job, as far as its places depend on it: a `JobSpec`, or what is kept of one."""

    @property
    def roles(self) -> Roles: ...


@dataclass(frozen=True, slots=True)
class Machine:
    """A ready node and what is free on it."""

    id: UUID
    name: str
    slots: int
    """In all; the free ones are `free_slots`."""
    free_slots: tuple[int, ...]
    gpus: int = 0
    free_gpus: tuple[int, ...] = ()
    draining: bool = False
    """Nothing new is placed on it, whatever is free."""
    trouble: str | None = None
    """Why nothing new is placed on it for now, beside draining."""
    gpu_memory: Mapping[int, int] = field(default_factory=dict)
    """Bytes of each GPU; of those that are not in it, nobody knows."""

    @property
    def every_gpu(self) -> list[int]:
        return list(self.gpu_memory) or list(range(self.gpus))

    def large_enough(self, gpus: Sequence[int], needed: int) -> list[int]:
        return [gpu for gpu in gpus if self.gpu_memory.get(gpu, needed) >= needed]


@dataclass(frozen=True, slots=True)
class Place:
    role: Role
    rank: int
    node_id: UUID
    node: str
    slot: int | None = None
    gpu: int | None = None


@dataclass(frozen=True, slots=True)
class Shortage:
    reason: str
    """waiting_for_nodes, draining, node_trouble, too_large, no_capacity, no_gpu; for programs."""
    message: str
    """The same as a sentence."""

    @property
    def passes_by_itself(self) -> bool:
        """Room will appear when running jobs end. Else only another machine, or another job file, would help."""
        return self.reason in ("no_capacity", "no_gpu")


def place(spec: HasRoles, machines: Sequence[Machine], shard_takes: int = 0) -> tuple[Place, ...] | Shortage:
    """The fullest use of the fewest machines; GPUs first where the job may use them.

    `shard_takes`: bytes that each shard needs if it is on a GPU, as far as that is known."""
    if short := _shortage(spec, machines, shard_takes):
        return short
    ordered = sorted(_open(machines), key=lambda m: _preference(m, spec))
    if spec.roles.server.device != "cuda":
        workers = _workers(spec, ordered)
        servers = _servers(spec, ordered, workers, shard_takes)
        return (*servers, *workers, _evaluator(workers))
    for count in range(1, len(ordered) + 1):
        servers = _servers_on_gpus(spec, ordered[:count], shard_takes)
        workers = _workers(spec, _without(ordered[:count], servers))
        if len(servers) == spec.roles.server.shards and len(workers) == spec.roles.worker.count:
            return (*servers, *workers, _evaluator(workers))
    return _no_room_for_both(spec, ordered, shard_takes)


def _workers(spec: HasRoles, machines: Sequence[Machine]) -> list[Place]:
    """As many as there is room for, each machine filled before the next one."""
    count, device = spec.roles.worker.count, spec.roles.worker.device
    places: list[Place] = []
    for machine in machines:
        gpus = () if device == "cpu" else machine.free_gpus
        room = min(len(machine.free_slots), len(gpus)) if device == "cuda" else len(machine.free_slots)
        for place_on in range(min(room, count - len(places))):
            gpu = gpus[place_on] if place_on < len(gpus) else None
            places.append(Place("worker", len(places), machine.id, machine.name, machine.free_slots[place_on], gpu))
    return places


def _servers(spec: HasRoles, machines: Sequence[Machine], workers: Sequence[Place], takes: int) -> list[Place]:
    """Spread over the workers' machines."""
    hosts = list(dict.fromkeys((worker.node_id, worker.node) for worker in workers))
    left = {machine.id: machine.large_enough(machine.free_gpus, takes) for machine in _without(machines, workers)}
    places = []
    for k in range(spec.roles.server.shards):
        id, name = hosts[k % len(hosts)]
        gpu = left[id].pop(0) if spec.roles.server.device == "auto" and left[id] else None
        places.append(Place("server", k, id, name, gpu=gpu))
    return places


def _servers_on_gpus(spec: HasRoles, machines: Sequence[Machine], takes: int) -> list[Place]:
    """As many as there are GPUs for: where a GPU has no slot for a worker beside it first, then spread evenly. The last GPUs of a
    machine, since workers take the first."""
    left = {machine.id: machine.large_enough(machine.free_gpus, takes) for machine in machines}
    counts = dict.fromkeys(left, 0)
    places: list[Place] = []
    for k in range(spec.roles.server.shards):
        open_ones = [machine for machine in machines if left[machine.id]]
        if not open_ones:
            break
        chosen = min(open_ones, key=lambda m: (len(left[m.id]) <= len(m.free_slots), counts[m.id]))
        counts[chosen.id] += 1
        places.append(Place("server", k, chosen.id, chosen.name, gpu=left[chosen.id].pop()))
    return places


def _evaluator(workers: Sequence[Place]) -> Place:
    return Place("evaluator", -1, workers[0].node_id, workers[0].node)


def _open(machines: Sequence[Machine]) -> list[Machine]:
    return [machine for machine in machines if not machine.draining and machine.trouble is None]


@dataclass(frozen=True, slots=True)
class Waits:
    shortage: Shortage
    position: int
    """Place in the queue, from 1."""


class Line:
    """One look at the queue: jobs come in their order, and each gets its places or a reason why it waits.

    Nobody overtakes a job that waits for room, so a large job is not starved by small ones; a job that could never fit on the
    machines that are there holds up nobody."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self._machines = list(machines)
        self.gave = False
        """Some job got its places."""
        self._waiting = 0
        self._blocked = False
        self._plans: dict[Hashable, tuple[Place, ...] | Shortage] = {}
        """For the machines as they are now: most jobs of a long queue need the same."""

    def next(self, spec: HasRoles, shard_takes: int = 0) -> tuple[Place, ...] | Waits:
        """What comes of the job that is next in the order. Its places are taken then. `shard_takes`: see `place`."""
        plan = self._plan(spec, shard_takes)
        if isinstance(plan, tuple) and not self._blocked:
            self._machines = _without(self._machines, plan)
            self._plans.clear()
            self.gave = True
            return plan
        self._waiting += 1
        shortage = plan if isinstance(plan, Shortage) else Shortage("behind", "Waits for its turn behind other jobs.")
        self._blocked = self._blocked or shortage.passes_by_itself
        return Waits(shortage, self._waiting)

    def _plan(self, spec: HasRoles, shard_takes: int) -> tuple[Place, ...] | Shortage:
        worker, server = spec.roles.worker, spec.roles.server
        key = worker.count, worker.device, server.shards, server.device, shard_takes
        if key not in self._plans:
            self._plans[key] = place(spec, self._machines, shard_takes)
        return self._plans[key]


def _without(machines: Sequence[Machine], plan: Sequence[Place]) -> list[Machine]:
    taken_slots = {(each.node_id, each.slot) for each in plan}
    taken_gpus = {(each.node_id, each.gpu) for each in plan}
    return [
        replace(
            m,
            free_slots=tuple(slot for slot in m.free_slots if (m.id, slot) not in taken_slots),
            free_gpus=tuple(gpu for gpu in m.free_gpus if (m.id, gpu) not in taken_gpus),
        )
        for m in machines
    ]


def _preference(machine: Machine, spec: HasRoles) -> tuple[int, int, str]:
    uses_gpus = spec.roles.worker.device != "cpu" or spec.roles.server.device == "cuda"
    gpus = len(machine.free_gpus) if uses_gpus else 0
    return -gpus, -len(machine.free_slots), machine.name


def place_again(role: Role, rank: int, spec: JobSpec, machines: Sequence[Machine], before: UUID) -> Place | None:
    """One process of a running job anew, on the machine where it was if that still has room."""
    if role == "worker":
        places = place(spec.model_copy(update={"roles": _one_worker(spec)}), sorted(machines, key=lambda m: m.id != before)[:1])
        if isinstance(places, Shortage):
            places = place(spec.model_copy(update={"roles": _one_worker(spec)}), machines)
        if isinstance(places, Shortage):
            return None
        worker = next(each for each in places if each.role == "worker")
        return Place("worker", rank, worker.node_id, worker.node, worker.slot, worker.gpu)
    if not _open(machines):
        return None
    host = min(_open(machines), key=lambda m: (m.id != before, m.name))
    return Place(role, rank, host.id, host.name)


def _one_worker(spec: JobSpec) -> object:
    """And a server that needs no GPU: those of a job that runs have theirs."""
    server = spec.roles.server.model_copy(update={"device": "cpu"})
    return spec.roles.model_copy(update={"worker": spec.roles.worker.model_copy(update={"count": 1}), "server": server})


def _shortage(spec: HasRoles, connected: Sequence[Machine], shard_takes: int) -> Shortage | None:
    if not connected:
        return Shortage("waiting_for_nodes", "No machine is connected; the job starts when one is.")
    machines = _open(connected)
    drained = ", ".join(machine.name for machine in connected if machine.draining)
    troubled = [machine for machine in connected if machine.trouble and not machine.draining]
    if not machines and not troubled:
        return Shortage("draining", f"All machines drain ({drained}); the job starts when one is resumed or another one connects.")
    if not machines:
        message = f"No machine can take it now; {troubled[0].name} is tried again soon. {troubled[0].trouble}"
        return Shortage("node_trouble", message)
    left_out = [f"those that drain ({drained})"] if drained else []
    left_out += [f"those in trouble ({', '.join(machine.name for machine in troubled)})"] if troubled else []
    beside = f", {' and '.join(left_out)} not counted" if left_out else ""
    workers = spec.roles.worker.count
    if spec.roles.worker.device == "cuda":
        gpus = sum(min(m.gpus, m.slots) for m in machines)
        free = sum(min(len(m.free_gpus), len(m.free_slots)) for m in machines)
        short = _compared(workers, gpus, free, "GPU", "no_gpu", beside)
    else:
        total, free = sum(m.slots for m in machines), sum(len(m.free_slots) for m in machines)
        short = _compared(workers, total, free, "slot", "no_capacity", beside)
    if short is None and spec.roles.server.device == "cuda":
        short = _large_gpus(spec, machines, shard_takes, beside) or _gpus_of_servers(spec, machines, beside)
    return short


def _large_gpus(spec: HasRoles, machines: Sequence[Machine], takes: int, beside: str) -> Shortage | None:
    large = sum(len(m.large_enough(m.every_gpu, takes)) for m in machines)
    if not takes or spec.roles.server.shards <= large:
        return None
    message = (
        f"Needs {_count(spec.roles.server.shards, 'GPU')} with {takes / 1e9:.1f} GB for its shards, and all connected machines "
        f"together have {large}{beside}. Raise roles.server.count, or take roles.server.device: cpu, or auto for what fits."
    )
    return Shortage("too_large", message)


def _gpus_of_servers(spec: HasRoles, machines: Sequence[Machine], beside: str) -> Shortage | None:
    """Together with those of the workers, which there are enough for."""
    with_workers = spec.roles.worker.device == "cuda"
    needed = spec.roles.server.shards + (spec.roles.worker.count if with_workers else 0)
    gpus, free = sum(m.gpus for m in machines), sum(len(m.free_gpus) for m in machines)
    for_whom = f"{', those of its workers included' if with_workers else ''} (roles.server.device: cuda; cpu needs none)"
    return _compared(needed, gpus, free, "GPU", "no_gpu", beside, for_whom)


def _no_room_for_both(spec: HasRoles, machines: Sequence[Machine], takes: int) -> Shortage:
    """GPUs and slots are there, but not beside each other."""
    empty = [replace(m, free_slots=tuple(range(m.slots)), free_gpus=tuple(m.every_gpu)) for m in machines]
    servers = _servers_on_gpus(spec, empty, takes)
    all_there = len(servers) == spec.roles.server.shards
    fits = all_there and len(_workers(spec, _without(empty, servers))) == spec.roles.worker.count
    what = "GPUs with free slots beside them for its workers, and GPUs for its shards (roles.server.device: cuda)"
    return Shortage("no_gpu", f"Waits for {what}.") if fits else Shortage("too_large", f"Needs {what}; there are not enough.")


def _compared(needed: int, total: int, free: int, thing: str, short: str, beside: str, for_whom: str = "") -> Shortage | None:
    if needed > total:
        message = f"Needs {_count(needed, thing)}{for_whom}, and all connected machines together have {total}{beside}."
        return Shortage("too_large", message)
    if needed > free:
        what = f"{_count(needed, f'free {thing}')}{for_whom}"
        return Shortage(short, f"Waits for {what}; {free} of {total} {_are(free)} free{beside}.")
    return None


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" + "s" * (n != 1)


def _are(n: int) -> str:
    return "is" if n == 1 else "are"

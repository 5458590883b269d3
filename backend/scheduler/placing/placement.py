"""Placement of the processes of a job: all of them, or none. Pure: jobs and free places in, plans or shortages out.

A worker takes one slot, and a GPU or a share of one if it computes on one. A group takes as much for each of its processes on a
machine. If its group is on several machines, it takes one slot on each. Servers
and the evaluator run beside the workers: they take no slot, and lie on the machines that have workers, so that a small job stays on
one machine. A server whose device is `cuda` takes a GPU or a share of one, too; with `auto` it gets one that the workers leave over
beside it. A shard shares the GPU of a worker first, where both fit. Where it is known how much a shard takes on a GPU, a share that
has less is none for it (docs/adr/0156-a-shard-shares-the-gpu-of-a-worker.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from backend.scheduler.placing.machines import Machine, Placeable, groups_fit, open_machines, suitable_machines
from backend.scheduler.placing.shortages import (
    Shortage,
    find_shortage,
    name_unusable_gpus,
    shortage_on_one_machine,
    shortage_without_network,
)
from gradstream.process.order import Role
from gradstream.spec import JobSpec
from gradstream.spec.roles import SettledCollective, WorkerRole
from gradstream.spec.values import GPU_TICKS


@dataclass(frozen=True, slots=True)
class Place:
    role: Role
    rank: int
    node_id: UUID
    node: str
    slot: int | None = None
    gpus: tuple[int, ...] = ()
    """The GPU of each of its processes there; empty: it computes on the CPU."""
    gpu_share: int = 1
    """k, if each of its processes has 1/k of a GPU."""
    cuts_network: bool = False
    """Processes of jobs there cannot connect to others."""

    @property
    def ticks(self) -> list[tuple[int, int]]:
        """The GPUs, and the parts of each that it takes."""
        return [(gpu, GPU_TICKS // self.gpu_share) for gpu in self.gpus]


def place(spec: Placeable, machines: Sequence[Machine], shard_takes: int = 0) -> tuple[Place, ...] | Shortage:
    """The fullest use of the fewest machines; GPUs first where the job may use them.

    `shard_takes`: bytes that each shard needs if it is on a GPU, as far as that is known. A job that would not fit if nothing else
    ran gets that as its shortage, whatever it lacks now."""
    plan = _place(spec, machines, shard_takes)
    if isinstance(plan, Shortage) and plan.passes_by_itself:
        alone = _place(spec, [machine.emptied for machine in machines], shard_takes)
        plan = alone if isinstance(alone, Shortage) else plan
    return name_unusable_gpus(spec, machines, plan) if isinstance(plan, Shortage) else plan


def _place(spec: Placeable, machines: Sequence[Machine], shard_takes: int) -> tuple[Place, ...] | Shortage:
    if short := find_shortage(spec, machines, shard_takes):
        return short
    machines = suitable_machines(spec, machines)
    ordered = sorted(open_machines(machines), key=lambda m: _preference(m, spec))
    if spec.roles.worker.group.machines > 1:
        ordered = [machine for machine in ordered if not machine.cuts_network]
    if spec.roles.serverless:
        return _without_servers(spec, ordered)
    if spec.roles.server.device != "cuda":
        workers = _workers(spec, ordered)
        servers = _servers(spec, ordered, workers, shard_takes)
        return (*servers, *workers, _evaluator(workers))
    for count in range(1, len(ordered) + 1):
        if plan := _with_shards_on_gpus(spec, ordered[:count], shard_takes):
            return plan
    return _shortage_of_both(spec, ordered, shard_takes)


def _with_shards_on_gpus(spec: Placeable, machines: Sequence[Machine], takes: int) -> tuple[Place, ...] | None:
    """Place all shards on GPUs, and all workers: beside each other if all fit so, else as full as possible, else workers first."""
    for beside in (True, False):
        servers = _servers_on_gpus(spec, machines, takes, beside=beside)
        workers = _workers(spec, without_places(machines, servers), servers)
        if whole := _joined(spec, servers, workers):
            return whole
    workers = _workers(spec, machines)
    return _joined(spec, _servers_on_gpus(spec, without_places(machines, workers), takes, beside=False), workers)


def _joined(spec: Placeable, servers: list[Place], workers: list[Place]) -> tuple[Place, ...] | None:
    """None: some are missing."""
    is_whole = len(servers) == spec.roles.server.shards and _are_all(workers, spec)
    return (*servers, *workers, _evaluator(workers)) if is_whole else None


def _without_servers(spec: Placeable, machines: Sequence[Machine]) -> tuple[Place, ...] | Shortage:
    """Place workers on one machine, where they may share memory, or on several whose jobs can connect to each other."""
    connected = [machine for machine in machines if not machine.cuts_network]
    machines = connected if spec.roles.server.collective in ("gloo", "nccl") else machines
    choices = [[machine] for machine in machines] + ([connected] if spec.spreads else [])
    for choice in choices:
        workers = _workers(spec, choice)
        if _are_all(workers, spec):
            return (*workers, _evaluator(workers))
    fits = any(_are_all(_workers(spec, [machine.emptied for machine in choice]), spec) for choice in choices)
    return shortage_without_network(spec, fits=fits) if spec.spreads else shortage_on_one_machine(spec, fits=fits)


def collective_of(spec: JobSpec, plan: Sequence[Place]) -> SettledCollective:
    """Return the way in which workers without servers combine pushes at these places."""
    if spec.settled_collective:
        return spec.settled_collective
    workers = [each for each in plan if each.role == "worker"]
    if spec.may_use_nccl and workers and all(each.gpus and not each.cuts_network for each in workers):
        return "nccl"
    return "gloo" if len({each.node_id for each in workers}) > 1 else "shared"


def _workers(spec: Placeable, machines: Sequence[Machine], shards: Sequence[Place] = ()) -> list[Place]:
    """Place as many workers as fit, and fill each machine before the next one: on the GPUs of these shards first, or where a shard
    fits beside them. Groups over several machines: see `_groups`."""
    if spec.roles.worker.group.machines > 1:
        return _groups(spec, machines)
    worker = spec.roles.worker
    places: list[Place] = []
    for machine in machines:
        gpus = _shares(worker, machine, _gpus_on(machine.id, shards) or _gpus_for_both(spec, machine))
        for slot in machine.free_slots[: min(machine.count_fitting(worker), worker.count - len(places))]:
            own, rank = tuple(gpus.pop(0)) if gpus else (), len(places)
            share = worker.gpu_share if own else 1
            places.append(Place("worker", rank, machine.id, machine.name, slot, own, share, machine.cuts_network))
    return places


def _gpus_on(node_id: UUID, places: Sequence[Place]) -> set[int]:
    return {gpu for each in places if each.node_id == node_id for gpu in each.gpus}


def _gpus_for_both(spec: Placeable, machine: Machine) -> set[int]:
    """Return the GPUs where a worker's process and a shard fit, if shards go where workers leave something."""
    if spec.roles.server.device != "auto":
        return set()
    ticks = GPU_TICKS // spec.roles.worker.gpu_share + GPU_TICKS // spec.roles.shard_gpu_share
    return {gpu for gpu, free in machine.free_ticks.items() if free >= ticks}


def _shares(worker: WorkerRole, machine: Machine, beside: Collection[int] = ()) -> list[list[int]]:
    """Return the GPUs for each of the workers that can have some on the machine. `beside`: see `Machine.free_shares`."""
    if worker.effective_device == "cpu":
        return []
    free, each = machine.free_shares(worker.gpu_share, beside), worker.gpu_processes
    return [sorted(free[first : first + each]) for first in range(0, len(free) - each + 1, each)]


def _groups(spec: Placeable, machines: Sequence[Machine]) -> list[Place]:
    """Place all workers, or none. Each has a slot on several machines, on the first of which is its lead. The fewest machines are
    used, and of these the ones with the most free slots first, so that the last workers still find different ones."""
    role = spec.roles.worker
    count, each = role.count, role.group.machines
    for used in range(each, len(machines) + 1):
        if groups_fit(count, each, [machine.count_fitting(role) for machine in machines[:used]]):
            break
    else:
        return []
    left = {machine.id: list(machine.free_slots[: machine.count_fitting(role)]) for machine in machines[:used]}
    gpus = {machine.id: _shares(role, machine) for machine in machines[:used]}
    places: list[Place] = []
    for worker in range(count):
        chosen = sorted(machines[:used], key=lambda machine: -len(left[machine.id]))[:each]
        on_gpus = all(gpus[machine.id] for machine in chosen)  # the machines of a group compute on the same kind of device
        for number, machine in enumerate(chosen):
            rank = worker * (each - 1) + number - 1 if number else worker
            own = tuple(gpus[machine.id].pop(0)) if on_gpus else ()
            slot, share = left[machine.id].pop(0), role.gpu_share if own else 1
            places.append(Place("peers" if number else "worker", rank, machine.id, machine.name, slot, own, share))
    return sorted(places, key=lambda place: place.role == "peers")


def _are_all(workers: Sequence[Place], spec: Placeable) -> bool:
    return sum(each.role == "worker" for each in workers) == spec.roles.worker.count


def _servers(spec: Placeable, machines: Sequence[Machine], workers: Sequence[Place], takes: int) -> list[Place]:
    """Spread over the workers' machines. With `auto`, each on a share that workers leave over there, on their own GPUs first."""
    hosts = list(dict.fromkeys((worker.node_id, worker.node) for worker in workers if worker.role == "worker"))
    share = spec.roles.shard_gpu_share
    left = {
        machine.id: machine.large_enough(machine.free_shares(share, _gpus_on(machine.id, workers)), takes * share)
        for machine in without_places(machines, workers)
    }
    places = []
    for k in range(spec.roles.server.shards):
        id, name = hosts[k % len(hosts)]
        gpus = (left[id].pop(0),) if spec.roles.server.device == "auto" and left[id] else ()
        places.append(Place("server", k, id, name, gpus=gpus, gpu_share=share if gpus else 1))
    return places


def _servers_on_gpus(spec: Placeable, machines: Sequence[Machine], takes: int, *, beside: bool) -> list[Place]:
    """As many as there are GPUs for: where a GPU has no slot for a worker beside it first, then spread evenly. `beside`: see
    `_gpus_for_shards`."""
    left = {machine.id: _gpus_for_shards(spec, machine, takes, beside=beside) for machine in machines}
    counts = dict.fromkeys(left, 0)
    places: list[Place] = []
    for k in range(spec.roles.server.shards):
        open_ones = [machine for machine in machines if left[machine.id]]
        if not open_ones:
            break
        chosen = min(open_ones, key=lambda m: (len(left[m.id]) <= len(m.free_slots), counts[m.id]))
        counts[chosen.id] += 1
        gpu = left[chosen.id].pop(0)
        places.append(Place("server", k, chosen.id, chosen.name, gpus=(gpu,), gpu_share=spec.roles.shard_gpu_share))
    return places


def _gpus_for_shards(spec: Placeable, machine: Machine, takes: int, *, beside: bool) -> list[int]:
    """Return the GPU of each share that a shard could have: if `beside`, first those where a worker's process fits, too. Then the
    fullest, and of these the last, since workers take the first."""
    worker, share, free = spec.roles.worker, spec.roles.shard_gpu_share, machine.free_ticks
    of_worker = GPU_TICKS // worker.gpu_share if beside and worker.effective_device != "cpu" else 0
    gpus = machine.large_enough(machine.free_shares(share), takes * share)
    return sorted(gpus, key=lambda gpu: (free[gpu] < GPU_TICKS // share + of_worker, free[gpu], -gpu))


def _evaluator(workers: Sequence[Place]) -> Place:
    return Place("evaluator", -1, workers[0].node_id, workers[0].node)


def without_places(machines: Sequence[Machine], plan: Sequence[Place]) -> list[Machine]:
    there = {machine.id: [each for each in plan if each.node_id == machine.id] for machine in machines}
    return [
        m.without({each.slot for each in there[m.id]}, (taken for each in there[m.id] for taken in each.ticks)) for m in machines
    ]


def _preference(machine: Machine, spec: Placeable) -> tuple[int, int, str]:
    worker = spec.roles.worker
    share = worker.gpu_share if worker.effective_device != "cpu" else spec.roles.shard_gpu_share
    uses_gpus = worker.effective_device != "cpu" or spec.roles.server.device == "cuda"
    gpus = len(machine.free_shares(share)) if uses_gpus else 0
    return -gpus, -len(machine.free_slots), machine.name


def place_again(
    role: Role, rank: int, spec: JobSpec, machines: Sequence[Machine], before: UUID, gpus: Sequence[int] = ()
) -> Place | None:
    """One process of a running job anew, on the machine and the GPUs where it was if it still fits there. A worker without servers
    fits on no other machine if the model lies there in shared memory."""
    machines = _with_gpus_before(machines, {before: gpus})
    if role == "worker" and spec.shares_memory:
        machines = [machine for machine in machines if machine.id == before]
    if role == "worker":
        places = place(spec.model_copy(update={"roles": _one_worker(spec)}), sorted(machines, key=lambda m: m.id != before)[:1])
        if isinstance(places, Shortage):
            places = place(spec.model_copy(update={"roles": _one_worker(spec)}), machines)
        if isinstance(places, Shortage):
            return None
        worker = next(each for each in places if each.role == "worker")
        return Place("worker", rank, worker.node_id, worker.node, worker.slot, worker.gpus, worker.gpu_share)
    hosts = open_machines(suitable_machines(spec, machines))
    if not hosts:
        return None
    host = min(hosts, key=lambda m: (m.id != before, m.name))
    return Place(role, rank, host.id, host.name)


def place_group_again(worker: int, spec: JobSpec, machines: Sequence[Machine], before: Mapping[UUID, Sequence[int]]) -> list[Place]:
    """Place a group over several machines anew, on those where it was if it still fits there; empty: it fits nowhere. `before`: its
    GPUs on each."""
    machines = _with_gpus_before(machines, before)
    hosts = [machine for machine in open_machines(suitable_machines(spec, machines)) if not machine.cuts_network]
    alone = spec.model_copy(update={"roles": _one_worker(spec)})
    others = spec.roles.worker.group.machines - 1
    ordered = sorted(hosts, key=lambda machine: (machine.id not in before, -len(machine.free_slots), machine.name))
    places = _groups(alone, [machine for machine in ordered if machine.count_fitting(spec.roles.worker)])
    return [replace(each, rank=worker * others + each.rank if each.role == "peers" else worker) for each in places]


def _with_gpus_before(machines: Sequence[Machine], before: Mapping[UUID, Sequence[int]]) -> list[Machine]:
    return [replace(machine, gpus_before=tuple(before.get(machine.id, ()))) for machine in machines]


def _one_worker(spec: JobSpec) -> object:
    """Return roles of one worker, and of a server that needs no GPU: the servers of a running job have theirs."""
    server = spec.roles.server.model_copy(update={"device": "cpu", "gpu": None})
    return spec.roles.model_copy(update={"worker": spec.roles.worker.model_copy(update={"count": 1}), "server": server})


def _shortage_of_both(spec: Placeable, machines: Sequence[Machine], takes: int) -> Shortage:
    """GPUs and slots are there, but not beside each other."""
    fits = _with_shards_on_gpus(spec, [machine.emptied for machine in machines], takes) is not None
    what = "GPUs with free slots on the same machine for its workers, and GPUs for its shards (roles.server.device: cuda)"
    if fits:
        return Shortage("no_gpu", f"Waits for {what}.")
    remedy = "Use fewer workers, or set roles.server.device: auto to use the GPUs that are left over."
    return Shortage("too_large", f"Needs {what}; there are not enough. {remedy}")

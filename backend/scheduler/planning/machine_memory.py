"""The memory of each machine and GPU that a planned job would use, and where it does not suffice. Pure, but for the nodes' rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from backend.nodes.models import NodeRow
from backend.scheduler.placing.placement import Place
from gradstream.advise import forecast
from gradstream.advise.machines import codec_that_adds_bytes, too_many_evaluator_processes, too_many_threads
from gradstream.api.jobs import JobWarning
from gradstream.api.plan import NodeMemory, Size
from gradstream.process.order import Role
from gradstream.spec import JobSpec


@dataclass(frozen=True, slots=True)
class PlannedMachine:
    name: str
    cpus: int
    memory: int
    """Bytes."""
    gpu_memory: Mapping[int, int]
    """Bytes of each GPU."""


def machines_of(rows: Iterable[NodeRow]) -> dict[UUID, PlannedMachine]:
    return {
        row.id: PlannedMachine(row.name, row.cpus, row.memory, {each["index"]: each["memory"] for each in row.gpus}) for row in rows
    }


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """Bytes that a process at some place takes, with all of its group there."""

    host: int
    gpu: int = 0
    """On each of its GPUs."""


def memory_of_places(spec: JobSpec, size: Size, places: Sequence[Place]) -> list[ProcessMemory]:
    memory, on_gpu, shard = forecast.memory(spec, size), forecast.worker_on_gpu(spec, size), forecast.shard_on_gpu(spec, size)
    kept = memory.activations or 0
    of_group = kept * spec.roles.worker.group.on_one_machine.peers
    on_cpus = {
        "worker": ProcessMemory(memory.worker + of_group),
        "peers": ProcessMemory((memory.machine or 0) + of_group),
        "server": ProcessMemory(memory.server // max(1, spec.roles.server.shards)),
        "evaluator": ProcessMemory(memory.evaluator),
    }
    on_gpus = {
        "worker": ProcessMemory(on_gpu.host, on_gpu.gpu + kept),
        "peers": ProcessMemory(on_gpu.machine, on_gpu.gpu + kept),
        "server": ProcessMemory(shard.host, shard.gpu),
    }
    workers = Counter(each.node_id for each in places if each.role == "worker")
    found = []
    for each in places:
        takes = (on_gpus if each.gpus else on_cpus)[each.role]
        if each.role == "server":
            arrives = forecast.remote_memory(spec, size, workers.total() - workers[each.node_id])
            takes = replace(takes, host=takes.host + arrives // spec.roles.server.shards)
        found.append(takes)
    return found


def memory_of(spec: JobSpec, size: Size, places: Sequence[Place], machines: Mapping[UUID, PlannedMachine]) -> list[NodeMemory]:
    """Return that of each machine that would be used, and of each GPU with its processes."""
    needed = Counter[UUID]()
    on_gpus, parts = Counter[tuple[UUID, int, Role]](), Counter[tuple[UUID, int, Role]]()
    for place, takes in zip(places, memory_of_places(spec, size, places), strict=True):
        needed[place.node_id] += takes.host
        for gpu in place.gpus:
            on_gpus[place.node_id, gpu, place.role] += takes.gpu
            parts[place.node_id, gpu, place.role] += machines[place.node_id].gpu_memory[gpu] // place.gpu_share
    hosts = [
        NodeMemory(node=machines[id].name, gpu=None, role=None, needed=count, total=machines[id].memory)
        for id, count in needed.items()
    ]
    devices = [
        NodeMemory(node=machines[key[0]].name, gpu=key[1], role=key[2], needed=count, total=parts[key])
        for key, count in on_gpus.items()
    ]
    return sorted([*hosts, *devices], key=lambda each: (each.node, -1 if each.gpu is None else each.gpu))


def too_little_memory(nodes: Sequence[NodeMemory], *, with_activations: bool) -> list[JobWarning]:
    what = "Vectors and activations" if with_activations else "Vectors alone"
    return [_warning(each, what) for each in nodes if each.needed > each.total]


def _warning(each: NodeMemory, what: str) -> JobWarning:
    if each.gpu is None:
        where, pointer, remedy = each.node, "/roles/worker/count", "Use fewer workers per machine, or a smaller model."
    else:
        role = "worker" if each.role == "peers" else each.role  # as the job file calls it
        where, pointer = f"GPU {each.gpu} of {each.node}", f"/roles/{role}/device"
        more = "more shards" if each.role == "server" else "a smaller model"
        remedy = f"Use {more}, or set roles.{role}.device: cpu."
    amounts = f"{each.needed / 1e9:.1f} GB of {where}, which has {each.total / 1e9:.1f} GB" + " for them" * (each.gpu is not None)
    return JobWarning(pointer=pointer, message=f"{what} take {amounts}. {remedy}")


def warnings_on_machines(
    spec: JobSpec, size: Size | None, places: Sequence[Place], machines: Mapping[UUID, PlannedMachine]
) -> list[JobWarning]:
    workers = Counter(each.node_id for each in places if each.role in ("worker", "peers") and not each.gpus)
    found = [
        warning
        for id, machine in machines.items()
        if id in workers
        for warning in too_many_threads(spec, machine.name, workers[id], machine.cpus)
    ]
    evaluators = {each.node_id for each in places if each.role == "evaluator"}
    for id in evaluators & machines.keys():
        found += too_many_evaluator_processes(spec, machines[id].name, workers[id], machines[id].cpus)
    found += codec_that_adds_bytes(spec, size.parameters) if size else []
    return [JobWarning(pointer=each.pointer, message=each.text) for each in found]

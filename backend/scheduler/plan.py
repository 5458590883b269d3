"""A plan: the dry run of a job as if it were submitted now. It changes nothing.

The same `Line` that serves the queue gives the places, so a plan says what the controller's next pass would do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from backend.bundles import service as bundles
from backend.files import FileStore
from backend.jobs import earlier
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.models import JobRow
from backend.jobs.warnings import notes_on, warnings_of, warnings_of_code
from backend.nodes import service as nodes
from backend.scheduler import situation, table_plan
from backend.scheduler.placing import queue
from backend.scheduler.placing.line import QueueLine, Waits
from backend.scheduler.placing.machines import Machine
from backend.scheduler.placing.placement import Place, collective_of, place
from backend.scheduler.schemas import PlanJob
from gradstream.advise import forecast
from gradstream.advise.forecast import ITEM
from gradstream.advise.machines import codec_that_adds_bytes, too_many_threads
from gradstream.api.jobs import JobWarning
from gradstream.api.plan import (
    CodeState,
    MeasuredSize,
    NodeMemory,
    Plan,
    PlannedProcess,
    PlannedShards,
    PlannedStart,
    Size,
    SizeFrom,
)
from gradstream.api.statuses import JobStatus
from gradstream.process.order import Role, label
from gradstream.spec import JobSpec, shard_count
from gradstream.spec.values import GPU_TICKS
from gradstream.workload_source import CodeFindings

_NAMED = 3
"""Machines that the sentence about the start names; more are counted, as the list of processes names each."""


def plan(session: Session, files: FileStore, body: PlanJob) -> Plan:
    """Raises: InvalidJob: `submitJob` would refuse the bundle, or its code."""
    code, found = _code(session, files, body)
    size = _size(session, body)
    machines = queue.free_machines(session)
    first = [_needs(session, job) for job in job_rows.live(session) if _is_ahead(job.status, job.priority, body.spec)]
    known = size.size if size else None
    whole = (body.spec, queue.shard_takes(session, body.spec, body.bundle, known))
    shards = _shards(session, body.spec, size, _places(QueueLine(machines), first, whole, machines))
    spec = body.spec.with_shards(shards.count)
    needs = (spec, queue.shard_takes(session, spec, body.bundle, known))
    turn = _turn(QueueLine(machines), first, needs)
    places = turn if not isinstance(turn, Waits) else _if_alone(needs, machines, turn)
    if spec.roles.serverless:
        spec = spec.with_collective(collective_of(spec, places))
        shards = shards.model_copy(update={"message": _holders(spec, places)})
    nodes = _nodes(session, spec, known, places) if known else []
    return Plan(
        code=code,
        start=_start(turn, places, len(first)),
        shards=shards,
        staleness=forecast.staleness(spec),
        size=size,
        traffic=known and forecast.traffic(spec, known),
        local_share=_local_share(spec, places),
        memory=known and forecast.memory(spec, known),
        nodes=nodes,
        tables=table_plan.plan_tables(session, files, spec, body.size or size, table_plan.memory_of_servers(nodes, places)),
        warnings=[
            *warnings_of(body.spec),
            *warnings_of_code(found),
            *_too_little(nodes),
            *_on_machines(session, spec, known, places),
        ],
        notes=notes_on(body.spec),
    )


def _code(session: Session, files: FileStore, body: PlanJob) -> tuple[CodeState, CodeFindings]:
    if body.bundle is None:
        return "missing", CodeFindings()
    if bundles.code_of(session, files, body.bundle) is None:
        return "not_uploaded", CodeFindings()
    return "checked", bundles.require(session, files, body.bundle, body.spec)


Needs = tuple[JobSpec, int]
"""A job, and the bytes that each of its shards takes on a GPU: see `place`."""


def _needs(session: Session, job: JobRow) -> Needs:
    spec = jobs.spec_of(job)
    return spec, queue.shard_takes(session, spec, job.bundle)


def _is_ahead(status: str, priority: int, spec: JobSpec) -> bool:
    """A new job comes behind those of its own priority."""
    return status == JobStatus.QUEUED and priority >= spec.priority


def _size(session: Session, body: PlanJob) -> SizeFrom | None:
    if body.size:
        return SizeFrom(source="given", job=None, message="As entered.", size=body.size)
    found = earlier.measured(session, body.spec, body.bundle)
    return SizeFrom(source="job", job=found.job, message=found.message, size=found.size) if found else None


def _turn(line: QueueLine, first: Sequence[Needs], needs: Needs) -> tuple[Place, ...] | Waits:
    for other in first:
        line.next(*other)
    return line.next(*needs)


def _places(line: QueueLine, first: Sequence[Needs], needs: Needs, machines: Sequence[Machine]) -> tuple[Place, ...]:
    turn = _turn(line, first, needs)
    return _if_alone(needs, machines, turn) if isinstance(turn, Waits) else turn


def _if_alone(needs: Needs, machines: Sequence[Machine], turn: Waits) -> tuple[Place, ...]:
    """Return the places of a job that waits, if nothing else ran; none, if it does not fit."""
    if not turn.shortage.passes_by_itself:
        return ()
    spec, takes = needs
    found = place(spec, [machine.emptied for machine in machines], takes)
    return found if isinstance(found, tuple) else ()


def _start(turn: tuple[Place, ...] | Waits, places: Sequence[Place], ahead: int) -> PlannedStart:
    processes = [
        PlannedProcess(role=p.role, rank=p.rank, label=label(p.role, p.rank), node=p.node, gpus=list(p.gpus), gpu_share=p.gpu_share)
        for p in places
    ]
    if isinstance(turn, Waits):
        short = turn.shortage
        return PlannedStart(
            now=False, reason=short.reason, message=short.message, position=turn.position, ahead=ahead, processes=processes
        )
    names = sorted({p.node for p in turn})
    machines = ", ".join(names) if len(names) <= _NAMED else f"{len(names)} machines"
    message = f"{len(turn)} processes would start on {machines} at once."
    return PlannedStart(now=True, reason=None, message=message, position=None, ahead=ahead, processes=processes)


def _shards(session: Session, spec: JobSpec, size: SizeFrom | None, places: Sequence[Place]) -> PlannedShards:
    count = spec.roles.server.count
    largest = _largest(size)
    if count == 0:
        return PlannedShards(count=0, message=_holders(spec, places), sure=True)
    if count != "auto":
        message = f"roles.server.count: {count}.{_balance(shard_count.largest_share(spec, largest), count)}"
        return PlannedShards(count=count, message=message, sure=True)
    workers = Counter(each.node_id for each in places if each.role in ("worker", "peers"))
    if size is None or not workers:
        return PlannedShards(count=1, message="auto: begins with 1, and settles it when the model's size is known.", sure=False)
    choice = shard_count.choose(spec, ITEM * size.size.parameters, situation.hosts(session, workers), largest)
    told = _balance(shard_count.largest_share(spec, largest), choice.shards)
    return PlannedShards(count=choice.shards, message=f"auto: {choice.reason}{told}", sure=False)


def _holders(spec: JobSpec, places: Sequence[Place]) -> str:
    """Say who holds the model of a job without servers, and how its workers combine pushes."""
    each = f"each of its {spec.roles.worker.count} workers"
    if not spec.shares_memory:
        machines = len({place.node_id for place in places if place.role == "worker"})
        why = f"they are on {machines} machines" if machines > 1 else "roles.server.collective says so"
        return f"This job has no servers: {each} holds the whole model, and they combine pushes by gloo, since {why}."
    holders = "worker 0 holds the whole model" if spec.one_holder else f"{each} holds a shard"
    return f"This job has no servers: {holders}, in shared memory."


def _largest(size: SizeFrom | None) -> float:
    """Return the share of the largest parameter in the vector; 0: not known."""
    known = size.size if size else None
    return (known.largest_parameter or 0) / known.parameters if isinstance(known, MeasuredSize) else 0.0


def _balance(largest: float, count: int) -> str:
    if largest * count <= 1:
        return ""
    told = f"The optimizer keeps each parameter on one server, and the largest is {largest:.0%} of the model"
    return f" {told}: its server has at least {largest * count:.2g} times the mean."


def _local_share(spec: JobSpec, places: Sequence[Place]) -> float | None:
    """Return the share of the traffic between workers and shards that stays on one machine."""
    if places and spec.roles.serverless:
        return float(spec.shares_memory)
    servers = [each.node_id for each in places if each.role == "server"]
    workers = [each.node_id for each in places if each.role == "worker"]
    pairs = len(servers) * len(workers)
    return sum(server == worker for server in servers for worker in workers) / pairs if pairs else None


def _nodes(session: Session, spec: JobSpec, size: Size, places: Sequence[Place]) -> list[NodeMemory]:
    """Each machine that would be used, and each GPU with its processes."""
    memory = forecast.memory(spec, size)
    of: dict[Role, int] = {
        "worker": memory.worker,
        "peers": memory.machine or 0,
        "server": memory.server // max(1, spec.roles.server.shards),
        "evaluator": memory.evaluator,
    }
    rows = {node.id: node for node in nodes.all_nodes(session)}
    needed: Counter[UUID] = Counter()
    on_gpus, parts = Counter[tuple[UUID, int, Role]](), Counter[tuple[UUID, int, Role]]()
    for each in places:
        if not each.gpus:
            needed[each.node_id] += of[each.role]
            continue
        takes = (forecast.shard_on_gpu if each.role == "server" else forecast.worker_on_gpu)(spec, size)
        needed[each.node_id] += takes.host
        for gpu in each.gpus:
            on_gpus[each.node_id, gpu, each.role] += takes.gpu
            parts[each.node_id, gpu, each.role] += GPU_TICKS // each.gpu_share
    hosts = [
        NodeMemory(node=rows[id].name, gpu=None, role=None, needed=count, total=rows[id].memory) for id, count in needed.items()
    ]
    devices = [
        NodeMemory(
            node=rows[id].name,
            gpu=gpu,
            role=role,
            needed=count,
            total=next(each["memory"] for each in rows[id].gpus if each["index"] == gpu) * parts[id, gpu, role] // GPU_TICKS,
        )
        for (id, gpu, role), count in on_gpus.items()
    ]
    return sorted([*hosts, *devices], key=lambda each: (each.node, -1 if each.gpu is None else each.gpu))


def _on_machines(session: Session, spec: JobSpec, size: Size | None, places: Sequence[Place]) -> list[JobWarning]:
    workers = Counter(each.node_id for each in places if each.role in ("worker", "peers") and not each.gpus)
    found = [
        warning
        for row in nodes.all_nodes(session)
        if row.id in workers
        for warning in too_many_threads(spec, row.name, workers[row.id], row.cpus)
    ]
    found += codec_that_adds_bytes(spec, size.parameters) if size else []
    return [JobWarning(pointer=each.pointer, message=each.text) for each in found]


def _too_little(nodes: Sequence[NodeMemory]) -> list[JobWarning]:
    return [_warning(each) for each in nodes if each.needed > each.total]


def _warning(each: NodeMemory) -> JobWarning:
    if each.gpu is None:
        where, pointer, remedy = each.node, "/roles/worker/count", "Use fewer workers per machine, or a smaller model."
    else:
        where, pointer = f"GPU {each.gpu} of {each.node}", f"/roles/{each.role}/device"
        more = "more shards" if each.role == "server" else "a smaller model"
        remedy = f"Use {more}, or set roles.{each.role}.device: cpu."
    amounts = f"{each.needed / 1e9:.1f} GB of {where}, which has {each.total / 1e9:.1f} GB{'' if each.gpu is None else ' for them'}"
    return JobWarning(pointer=pointer, message=f"Vectors alone take {amounts}. {remedy}")

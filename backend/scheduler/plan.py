"""A plan: what would become of a job if it were submitted now. Looks, and changes nothing.

Who gets which place is asked of the same `Line` that serves the queue: so a plan says what the controller's next pass would do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from backend.jobs import earlier
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.schemas import JobWarning
from backend.jobs.statuses import JobStatus
from backend.nodes import service as nodes
from backend.scheduler import queue, situation
from backend.scheduler.placement import Line, Machine, Place, Waits, place
from backend.scheduler.schemas import NodeMemory, Plan, PlanJob, PlannedProcess, PlannedShards, PlannedStart, SizeFrom
from gradstream.advise import forecast
from gradstream.advise.forecast import ITEM, Memory
from gradstream.center import auto
from gradstream.process.order import label
from gradstream.spec import JobSpec


def plan(session: Session, body: PlanJob) -> Plan:
    size = _size(session, body)
    machines = queue.free_machines(session)
    first = [jobs.spec_of(job) for job in job_rows.live(session) if _is_ahead(job.status, job.priority, body.spec)]
    shards = _shards(session, body.spec, size, _places(Line(machines), first, body.spec, machines))
    spec = body.spec.with_shards(shards.count)
    turn = _turn(Line(machines), first, spec)
    places = turn if not isinstance(turn, Waits) else _if_alone(spec, machines, turn)
    memory = size and forecast.memory(spec, size.size)
    needs = _nodes(session, memory, places) if memory else []
    return Plan(
        start=_start(turn, places, len(first)), shards=shards, staleness=forecast.staleness(spec), size=size,
        traffic=size and forecast.traffic(spec, size.size), near=_near(places), memory=memory, nodes=needs,
        warnings=[*JobWarning.of(body.spec), *_too_little(needs)], notes=JobWarning.notes_on(body.spec),
    )  # fmt: skip


def _is_ahead(status: str, priority: int, spec: JobSpec) -> bool:
    """A new job comes behind those of its own priority."""
    return status == JobStatus.QUEUED and priority >= spec.priority


def _size(session: Session, body: PlanJob) -> SizeFrom | None:
    if body.size:
        return SizeFrom(source="given", job=None, message="As you said.", size=body.size)
    found = earlier.measured(session, body.spec, body.bundle)
    return SizeFrom(source="job", job=found.job, message=found.message, size=found.size) if found else None


def _turn(line: Line, first: Sequence[JobSpec], spec: JobSpec) -> tuple[Place, ...] | Waits:
    for other in first:
        line.next(other)
    return line.next(spec)


def _places(line: Line, first: Sequence[JobSpec], spec: JobSpec, machines: Sequence[Machine]) -> tuple[Place, ...]:
    turn = _turn(line, first, spec)
    return _if_alone(spec, machines, turn) if isinstance(turn, Waits) else turn


def _if_alone(spec: JobSpec, machines: Sequence[Machine], turn: Waits) -> tuple[Place, ...]:
    """Where a job that waits would go if nothing else ran; nowhere, if it does not fit."""
    if turn.shortage.reason != "behind" and not turn.shortage.passes_by_itself:
        return ()
    gpus = {machine.id: tuple(range(machine.gpus)) for machine in machines}
    empty = [replace(m, free_slots=tuple(range(m.slots)), free_gpus=gpus[m.id]) for m in machines]
    found = place(spec, empty)
    return found if isinstance(found, tuple) else ()


def _start(turn: tuple[Place, ...] | Waits, places: Sequence[Place], ahead: int) -> PlannedStart:
    processes = [PlannedProcess(role=p.role, rank=p.rank, label=label(p.role, p.rank), node=p.node, gpu=p.gpu) for p in places]
    if isinstance(turn, Waits):
        short = turn.shortage
        return PlannedStart(
            now=False, reason=short.reason, message=short.message, position=turn.position, ahead=ahead, processes=processes
        )
    machines = ", ".join(sorted({p.node for p in turn}))
    message = f"{len(turn)} processes would start on {machines} at once."
    return PlannedStart(now=True, reason=None, message=message, position=None, ahead=ahead, processes=processes)


def _shards(session: Session, spec: JobSpec, size: SizeFrom | None, places: Sequence[Place]) -> PlannedShards:
    count = spec.roles.server.count
    if count != "auto":
        return PlannedShards(count=count, message=f"roles.server.count: {count}.", sure=True)
    workers = Counter(each.node_id for each in places if each.role == "worker")
    if size is None or not workers:
        return PlannedShards(count=1, message="auto: begins with 1, and settles it when the model's size is known.", sure=False)
    choice = auto.choose(spec, ITEM * size.size.parameters, situation.hosts(session, workers))
    return PlannedShards(count=choice.shards, message=f"auto: {choice.reason}", sure=False)


def _near(places: Sequence[Place]) -> float | None:
    """Of what travels between workers and shards: the share between two on one machine."""
    servers = [each.node_id for each in places if each.role == "server"]
    workers = [each.node_id for each in places if each.role == "worker"]
    pairs = len(servers) * len(workers)
    return sum(server == worker for server in servers for worker in workers) / pairs if pairs else None


def _nodes(session: Session, memory: Memory, places: Sequence[Place]) -> list[NodeMemory]:
    shards = max(1, sum(each.role == "server" for each in places))
    of = {"worker": memory.worker, "server": memory.server // shards, "evaluator": memory.evaluator}
    total = {node.id: node.memory for node in nodes.all_nodes(session)}
    needed: Counter[tuple[str, int]] = Counter()
    for each in places:
        needed[each.node, total[each.node_id]] += of[each.role]
    return [NodeMemory(node=node, needed=count, total=all_) for (node, all_), count in sorted(needed.items())]


def _too_little(nodes: Sequence[NodeMemory]) -> list[JobWarning]:
    remedy = "Take fewer workers for each machine, or a smaller model."
    return [
        JobWarning(
            pointer="/roles/worker/count",
            message=f"Vectors alone take {each.needed / 1e9:.1f} GB of {each.node}, which has {each.total / 1e9:.1f} GB. {remedy}",
        )
        for each in nodes
        if each.needed > each.total
    ]

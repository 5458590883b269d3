"""A plan: the dry run of a job as if it were submitted now. It changes nothing.

The same `Line` that serves the queue gives the places, so a plan says what the controller's next pass would do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from backend.bundles import service as bundles
from backend.files import FileStore
from backend.jobs import earlier
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.models import JobRow
from backend.jobs.warnings import notes_on, warnings_of, warnings_of_code
from backend.nodes import service as nodes
from backend.scheduler import situation
from backend.scheduler.placing import queue
from backend.scheduler.placing.line import QueueLine, Waits
from backend.scheduler.placing.placement import Place, collective_of, place
from backend.scheduler.planning import table_plan
from backend.scheduler.planning.fitting import Fitting
from backend.scheduler.planning.machine_memory import machines_of, memory_of, too_little_memory, warnings_on_machines
from backend.scheduler.schemas import PlanJob
from gradstream.advise import forecast
from gradstream.advise.forecast import ITEM
from gradstream.api.plan import (
    CodeState,
    MeasuredSize,
    NodeMemory,
    Plan,
    PlannedChange,
    PlannedProcess,
    PlannedShards,
    PlannedStart,
    SizeFrom,
)
from gradstream.api.statuses import JobStatus
from gradstream.process.order import label
from gradstream.spec import JobSpec, shard_count
from gradstream.workload_source import CodeFindings

_NAMED = 3
"""Machines that the sentence about the start names; more are counted, as the list of processes names each."""


@dataclass(frozen=True, slots=True)
class _PlacedJob:
    """A job as it would be placed."""

    spec: JobSpec
    """With all that `auto` leaves to the platform."""
    turn: tuple[Place, ...] | Waits
    places: tuple[Place, ...]
    shards: PlannedShards
    nodes: list[NodeMemory]


class _Planner:
    """Looks at jobs on the machines as they are now."""

    def __init__(self, session: Session, body: PlanJob, size: SizeFrom | None) -> None:
        self._session, self._body, self._size = session, body, size
        self._free = queue.free_machines(session)
        self.ahead = [_needs(session, job) for job in job_rows.live(session) if _is_ahead(job.status, job.priority, body.spec)]
        self.machines = machines_of(nodes.all_nodes(session))

    def look(self, given: JobSpec) -> _PlacedJob:
        known = self._size.size if self._size else None
        whole = given, queue.shard_takes(self._session, given, self._body.bundle, known)
        shards = _shards(self._session, given, self._size, self._places(whole, self._turn(whole)))
        spec = given.with_shards(shards.count)
        needs = spec, queue.shard_takes(self._session, spec, self._body.bundle, known)
        turn = self._turn(needs)
        places = self._places(needs, turn)
        if spec.roles.serverless:
            spec = spec.with_collective(collective_of(spec, places))
            shards = shards.model_copy(update={"message": _holders(spec, places)})
        return _PlacedJob(spec, turn, places, shards, memory_of(spec, known, places, self.machines) if known else [])

    def propose(self, look: _PlacedJob) -> PlannedChange | None:
        """Return None if all of it fits, as far as is known."""
        if self._size is None or _fits(look):
            return None
        fitting = Fitting(self._body.spec, self._size.size, look.shards.count, look.places, self._free, self.machines)
        return fitting.propose(lambda spec: _fits(self.look(spec)))

    def _turn(self, needs: Needs) -> tuple[Place, ...] | Waits:
        line = QueueLine(self._free)
        for other in self.ahead:
            line.next(*other)
        return line.next(*needs)

    def _places(self, needs: Needs, turn: tuple[Place, ...] | Waits) -> tuple[Place, ...]:
        """Return the places of a job; of one that waits, if nothing else ran; none, if it does not fit."""
        if not isinstance(turn, Waits):
            return turn
        if not turn.shortage.passes_by_itself:
            return ()
        spec, takes = needs
        found = place(spec, [machine.emptied for machine in self._free], takes)
        return found if isinstance(found, tuple) else ()


def plan(session: Session, files: FileStore, body: PlanJob) -> Plan:
    """Raises: InvalidJob: `submitJob` would refuse the bundle, or its code."""
    code, found = _code(session, files, body)
    size = _size(session, body)
    known = size.size if size else None
    planner = _Planner(session, body, size)
    look = planner.look(body.spec)
    memory = forecast.memory(look.spec, known) if known else None
    counted = memory is not None and memory.activations is not None
    server_memory = table_plan.memory_of_servers(look.nodes, look.places)
    return Plan(
        code=code,
        start=_start(look.turn, look.places, len(planner.ahead)),
        shards=look.shards,
        staleness=forecast.staleness(look.spec),
        size=size,
        traffic=known and forecast.traffic(look.spec, known),
        local_share=_local_share(look.spec, look.places),
        memory=memory,
        nodes=look.nodes,
        tables=table_plan.plan_tables(session, files, look.spec, body.size or size, server_memory),
        proposal=planner.propose(look),
        warnings=[
            *warnings_of(body.spec),
            *warnings_of_code(found),
            *too_little_memory(look.nodes, with_activations=counted),
            *warnings_on_machines(look.spec, known, look.places, planner.machines),
        ],
        notes=notes_on(body.spec),
    )


def _fits(look: _PlacedJob) -> bool:
    return all(each.needed <= each.total for each in look.nodes)


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
        by = f"gloo, since {why}" if spec.roles.server.collective == "gloo" else "NCCL, as each has a GPU"
        return f"This job has no servers: {each} holds the whole model, and they combine pushes by {by}."
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
        return float(len({each.node_id for each in places if each.role == "worker"}) == 1)
    servers = [each.node_id for each in places if each.role == "server"]
    workers = [each.node_id for each in places if each.role == "worker"]
    pairs = len(servers) * len(workers)
    return sum(server == worker for server in servers for worker in workers) / pairs if pairs else None

"""Free places on the machines, and the start of a job there. `waiting_line` decides which job is next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from sqlalchemy.orm import Session

from backend.artifacts import service as artifacts
from backend.db import after_commit, now
from backend.hints import Hints
from backend.jobs import earlier, feed
from backend.jobs import service as jobs
from backend.jobs.models import AttemptRow, JobRow, ProcessRow
from backend.jobs.places.gpu_ticks import choose_ticks, read_ticks, write_ticks
from backend.jobs.states import switch
from backend.nodes import service as nodes
from backend.nodes.models import NodeRow
from backend.scheduler.placing.machines import Machine
from backend.scheduler.placing.placement import Place, collective_of
from gradstream.advise import forecast
from gradstream.api.plan import Size
from gradstream.api.platform import NodeStatus
from gradstream.api.statuses import AttemptStatus, JobStatus, ProcessStatus
from gradstream.events import EventKind
from gradstream.sandbox.sandbox import Level, Network
from gradstream.spec import JobSpec
from gradstream.spec.values import GPU_TICKS


def shard_takes(session: Session, spec: JobSpec, bundle: str | None, size: Size | None = None) -> int:
    """Return the bytes that each shard of the job needs on a GPU: by this size of the model, or that of an earlier job. 0: it needs
    none, or the size is unknown."""
    if spec.roles.server.device == "cpu":
        return 0
    if size is None:
        found = earlier.measured(session, spec, bundle)
        size = found.size if found else None
    return forecast.shard_on_gpu(spec, size).gpu if size else 0


def start(session: Session, job: JobRow, plan: Sequence[Place]) -> None:
    """Begin a new attempt with all its processes. They start when its data plane is made."""
    checkpoint = artifacts.newest_checkpoint(session, job.id)
    job.attempt += 1
    attempt = AttemptRow(
        job_id=job.id,
        number=job.attempt,
        status=AttemptStatus.PREPARING,
        plane_open=True,
        resumed_attempt=checkpoint and checkpoint.attempt,
        resumed_checkpoint=checkpoint and checkpoint.number,
    )
    session.add(attempt)
    session.flush()
    for each in plan:
        add_process(session, job, each, incarnation=0)
    job.collective = _collective(jobs.read_spec(job.spec, job.shards), plan)
    machines = ", ".join(sorted({each.node for each in plan}))
    start = f"from checkpoint {checkpoint.number} of attempt {checkpoint.attempt}" if checkpoint else "from the beginning"
    by = _BY.get(jobs.spec_of(job).settled_collective, "")
    data = {"number": job.attempt, "resumed_from": checkpoint and {"attempt": checkpoint.attempt, "checkpoint": checkpoint.number}}
    feed.record(
        session, job, EventKind.ATTEMPT, f"attempt {job.attempt} begins {start}, on {machines}.", actor="controller", data=data
    )
    switch(
        session,
        job,
        JobStatus.STARTING,
        actor="controller",
        reason="placed",
        message=f"{len(plan)} processes start on {machines}.{by}",
    )


_BY: Mapping[str | None, str] = {"gloo": " They combine pushes by gloo.", "nccl": " They combine pushes by NCCL."}


def _collective(spec: JobSpec, plan: Sequence[Place]) -> str | None:
    """Return the way that workers without servers combine pushes where the spec leaves that open; None: it says it."""
    if not spec.roles.serverless or spec.roles.server.collective != "auto":
        return None
    return collective_of(spec, plan)


def add_process(session: Session, job: JobRow, place: Place, incarnation: int) -> None:
    """Raises: IntegrityError at the flush, if the slot or a part of a GPU is taken."""
    taken = (tick for row in jobs.live_processes(session, node_id=place.node_id) for tick in read_ticks(row.gpu_ticks))
    ticks = choose_ticks(place.gpus, place.gpu_share, taken) if place.gpus else []
    row = ProcessRow(
        job_id=job.id,
        seq=feed.take(session, job),
        attempt=job.attempt,
        role=place.role,
        rank=place.rank,
        incarnation=incarnation,
        node_id=place.node_id,
        node=place.node,
        slot=place.slot,
        gpu_ticks=write_ticks(place.node_id, ticks),
        gpu_share=place.gpu_share,
        status=ProcessStatus.ASSIGNED,
    )
    session.add(row)
    session.flush()


def free_machines(session: Session) -> list[Machine]:
    """Return the ready nodes with their free places. Only a holder of the lock `PLACES` may give those away."""
    running = jobs.live_processes(session)
    ready = [node for node in nodes.all_nodes(session) if node.status == NodeStatus.READY]
    moment = now(session)
    return [_machine(node, [process for process in running if process.node_id == node.id], moment) for node in ready]


def _machine(node: NodeRow, running: Sequence[ProcessRow], moment: datetime) -> Machine:
    obstacle = _gpu_obstacle(node)
    gpus = [] if obstacle else node.gpus
    slots, indices = {process.slot for process in running}, [gpu["index"] for gpu in gpus]
    taken = Counter(gpu for process in running for gpu, _ in read_ticks(process.gpu_ticks))
    return Machine(
        node.id,
        node.name,
        node.slots,
        tuple(slot for slot in range(node.slots) if slot not in slots),
        len(indices),
        {gpu: GPU_TICKS - taken[gpu] for gpu in indices},
        draining=node.draining_since is not None,
        isolates_network=node.isolation is not None and node.isolation["level"] == Level.NAMESPACE,
        cuts_network=node.isolation is not None and node.isolation["network"] == Network.PLATFORM,
        gpu_memory={gpu["index"]: gpu["memory"] for gpu in gpus},
        gpu_obstacle=obstacle,
        trouble=node.trouble if node.retry_at is not None and node.retry_at > moment else None,
    )


def _gpu_obstacle(node: NodeRow) -> str:
    if not node.gpus or node.torch is None or node.torch["cuda"] is not None:
        return ""
    many = "a GPU" if len(node.gpus) == 1 else f"{len(node.gpus)} GPUs"
    return (
        f"{node.name} has {many}, and torch {node.torch['version']}, which has no CUDA; install a torch with CUDA there "
        "(`make demo TORCH=cuda`), and start its agent again."
    )


def hint_nodes(session: Session, hints: Hints, job: JobRow) -> None:
    """Tell the nodes of a job's processes, after the commit, that their desired set has changed."""
    for node_id in {process.node_id for process in jobs.live_processes(session, job_id=job.id)}:
        after_commit(session, ("node", node_id), partial(hints.send, node_id))

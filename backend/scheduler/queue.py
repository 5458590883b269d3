"""The queue: places jobs, the most important and then the oldest first, and tells each waiting job why it waits.

Nobody overtakes a job that waits for room, so a large job is not starved by small ones; a job that could never fit on the
machines that are there holds up nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy.orm import Session

from backend.artifacts import service as artifacts
from backend.db import after_commit, try_lock
from backend.hints import Hints
from backend.jobs import feed
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.models import AttemptRow, JobRow, ProcessRow
from backend.jobs.schemas import AttemptStatus, JobStatus, ProcessStatus
from backend.jobs.states import switch
from backend.nodes import service as nodes
from backend.nodes.models import NodeRow
from backend.nodes.schemas import NodeStatus
from backend.scheduler.placement import Machine, Place, Shortage, place

LOCK = "scheduler.place"
"""Held by whoever gives out slots and GPUs."""


def place_queued(session: Session) -> None:
    """One look at the queue. Jobs that someone else is changing right now are left for the next look."""
    queued = [job for job in job_rows.live(session) if job.status == JobStatus.QUEUED]
    if not queued or not try_lock(session, LOCK):
        return
    machines, ahead, blocked = free_machines(session), 0, False
    for seen in queued:
        job = job_rows.lock(session, seen.id, skip_locked=True)
        if job is None or job.status != JobStatus.QUEUED:
            continue
        plan = place(jobs.spec_of(job), machines)
        if isinstance(plan, tuple) and not blocked:
            _start(session, job, plan)
            machines = _without(machines, plan)
            continue
        ahead += 1
        shortage = plan if isinstance(plan, Shortage) else Shortage("behind", "Waits for its turn behind other jobs.")
        blocked = blocked or shortage.passes_by_itself
        _explain(session, job, shortage, position=ahead)


def _explain(session: Session, job: JobRow, shortage: Shortage, position: int) -> None:
    before = (job.reason, job.message, job.position)
    job.reason, job.message, job.position = shortage.reason, shortage.message, position
    if before != (job.reason, job.message, job.position):
        feed.changed(session, job)


def _start(session: Session, job: JobRow, plan: Sequence[Place]) -> None:
    """A new attempt with all its processes. They start when its gradient plane is made."""
    cut = artifacts.newest_cut(session, job.id)
    job.attempt += 1
    attempt = AttemptRow(
        job_id=job.id, number=job.attempt, status=AttemptStatus.PREPARING, plane_open=True,
        resumed_attempt=cut and cut.attempt, resumed_cut=cut and cut.number,
    )  # fmt: skip
    session.add(attempt)
    session.flush()
    for each in plan:
        add_process(session, job, each, incarnation=0)
    machines = ", ".join(sorted({each.node for each in plan}))
    start = f"from cut {cut.number} of attempt {cut.attempt}" if cut else "from the beginning"
    data = {"number": job.attempt, "resumed_from": cut and {"attempt": cut.attempt, "cut": cut.number}}
    feed.record(session, job, "attempt", f"attempt {job.attempt} begins {start}, on {machines}.", actor="controller", data=data)
    switch(
        session, job, JobStatus.STARTING, actor="controller", reason="placed", message=f"{len(plan)} processes start on {machines}."
    )


def add_process(session: Session, job: JobRow, place: Place, incarnation: int) -> None:
    """Raises: IntegrityError at the flush, if the slot or GPU is taken."""
    row = ProcessRow(
        job_id=job.id, seq=feed.take(session, job), attempt=job.attempt, role=place.role, rank=place.rank, incarnation=incarnation,
        node_id=place.node_id, node=place.node, slot=place.slot, gpu=place.gpu, status=ProcessStatus.ASSIGNED,
    )  # fmt: skip
    session.add(row)
    session.flush()


def free_machines(session: Session) -> list[Machine]:
    """The ready nodes with what is free on them. Only whoever holds `LOCK` may give it away."""
    running = jobs.live_processes(session)
    ready = [node for node in nodes.all_nodes(session) if node.status == NodeStatus.READY]
    return [_machine(node, [process for process in running if process.node_id == node.id]) for node in ready]


def _machine(node: NodeRow, running: Sequence[ProcessRow]) -> Machine:
    slots, gpus = {process.slot for process in running}, {process.gpu for process in running}
    indices = [gpu["index"] for gpu in node.gpus]
    return Machine(
        node.id, node.name, node.slots, tuple(slot for slot in range(node.slots) if slot not in slots),
        len(indices), tuple(gpu for gpu in indices if gpu not in gpus),
    )  # fmt: skip


def _without(machines: list[Machine], plan: Sequence[Place]) -> list[Machine]:
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


def hint_nodes(session: Session, hints: Hints, job: JobRow) -> None:
    """Tell the nodes of a job's processes, after the commit, that their desired set has changed."""
    for node in {process.node for process in jobs.live_processes(session, job_id=job.id)}:
        after_commit(session, ("node", node), partial(hints.send, node))

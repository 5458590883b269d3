"""Machines: they register, report their processes, and fetch the processes that they should run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self
from uuid import UUID

from sqlalchemy.orm import Session

from backend import secrets
from backend.db import PLACES, after_commit, now, wait_for_lock
from backend.jobs import lifecycle
from backend.jobs import service as jobs
from backend.jobs.models import JobRow, ProcessRow
from backend.metrics import hanging
from backend.nodes import orders, repository, trouble, usage
from backend.nodes.guard import guarded, wait_shortly
from backend.nodes.identity.accounts import close_account
from backend.nodes.models import NodeRow
from backend.nodes.schemas import DesiredProcesses, Heartbeat, Nodes, ReportedProcess
from backend.platform import Platform
from gradstream.api.platform import Node, NodeGpu, NodeProcess, NodeStatus
from gradstream.api.statuses import ProcessStatus
from gradstream.errors import Conflict, NodeRemoved, NotFound, NotSignedIn
from gradstream.process.exits import Exit, ExitReason


@dataclass(frozen=True, slots=True)
class NodeCaller:
    """The node that sends a request."""

    node_id: UUID
    name: str

    @property
    def actor(self) -> str:
        return f"node:{self.name}"


def caller_of_token(session: Session, token: str) -> NodeCaller:
    """Raises: NotSignedIn: register again. NodeRemoved: end."""
    node = repository.by_token(session, secrets.digest(token))
    if node is None:
        raise NotSignedIn("This node's token ended: its agent has registered since. Register again.")
    refuse_removed(node)
    return NodeCaller(node.id, node.name)


def refuse_removed(node: NodeRow) -> None:
    """Raises: NodeRemoved."""
    if node.removed_at is not None:
        raise NodeRemoved(
            f"The node '{node.name}' was removed from this platform. `gradstream join` with a join token brings the machine back."
        )


def heartbeat(session: Session, platform: Platform, node: NodeCaller, body: Heartbeat) -> DesiredProcesses:
    rotating_since = repository.seen(session, node.node_id, body.load, body.memory_used)
    wait_shortly(session)
    _take_reports(session, node, body.processes)
    trouble.lose_unheard(session, node.node_id, node.name, platform.settings.orders_within)
    desired = orders.desired(session, platform, node.node_id)
    every = platform.settings.heartbeat_every.total_seconds()
    return DesiredProcesses(desired=desired, heartbeat_every=every, rotate=rotating_since is not None)


def _take_reports(session: Session, node: NodeCaller, reports: list[ReportedProcess]) -> None:
    """Note what changed and what was measured, job by job, each under its lock; jobs in a fixed order, so that no two heartbeats
    wait in a circle."""
    by_id = {report.id: report for report in reports}
    known = jobs.processes_of_node(session, list(by_id), node.node_id)
    news = [row for row in known if row.ended_at is None and _is_news(row, by_id[row.id])]
    for job_id in sorted({row.job_id for row in news}):
        with guarded(session, job_id):
            _take_reports_of_job(session, node, job_id, [row.id for row in news if row.job_id == job_id], by_id)


def _take_reports_of_job(
    session: Session, node: NodeCaller, job_id: UUID, ids: list[UUID], by_id: Mapping[UUID, ReportedProcess]
) -> None:
    job = jobs.lock(session, job_id)
    rows = jobs.processes_of_node(session, ids, node.node_id)
    for row in rows:
        report = by_id[row.id]
        if row.ended_at is not None:
            continue
        row.heard_at = row.heard_at or now(session)
        if report.state == "exited":
            lifecycle.process_ended(session, job, row, exit := _exit(report), ProcessStatus.EXITED, actor=node.actor)
            if exit.reason is ExitReason.NODE_UNFIT:
                trouble.note(session, node.node_id, f"{row.label} of {job.name} could not start: {exit.message}")
        elif report.state != row.status and report.state in _STATES:
            lifecycle.process_changed(session, job, row, ProcessStatus(report.state), pid=report.pid)
            if report.state == ProcessStatus.RUNNING:
                trouble.clear(session, node.node_id)
    hangs = {row.label: by_id[row.id].hang for row in rows if row.ended_at is None and row.attempt == job.attempt}
    hanging.note_hangs(session, job, hangs, ended=[row.label for row in rows if row.ended_at is not None])
    usage.store(session, job, [(row, by_id[row.id].usage) for row in rows if row.ended_at is None])


def _is_news(row: ProcessRow, report: ReportedProcess) -> bool:
    return row.heard_at is None or row.status != report.state or report.usage is not None or report.hang is not None


_STATES = frozenset({ProcessStatus.STARTING, ProcessStatus.RUNNING})
"""States that an agent may report of a process that lives."""


def _exit(report: ReportedProcess) -> Exit:
    if report.exit is None:
        return Exit(reason=ExitReason.INTERNAL, message="the agent gave no reason", code=-1)
    told = report.exit
    if told.reason not in set(ExitReason):
        return Exit(reason=ExitReason.INTERNAL, message=f"{told.message} (its agent calls this '{told.reason}')", code=told.code)
    return Exit(reason=ExitReason(told.reason), message=told.message, code=told.code)


def lose_processes(session: Session, node_id: UUID, message: str, *, actor: str, told_only: bool = False) -> None:
    """All processes of a node are gone; with `told_only`, but for those that it never heard of."""
    rows = jobs.live_processes(session, node_id=node_id)
    for job_id in sorted({row.job_id for row in rows}):
        job = jobs.lock(session, job_id)
        for row in jobs.live_processes(session, node_id=node_id, job_id=job_id):
            if not (told_only and row.status == ProcessStatus.ASSIGNED):
                lifecycle.process_lost(session, job, row, message, actor=actor)


def check_bundle(session: Session, node_id: UUID, hash: str) -> None:
    """A node gets the code of its own processes only. Raises: NotFound."""
    if not repository.runs_bundle(session, node_id, hash):
        raise NotFound(f"No process of this node has the bundle {hash[:12]}...", bundle=hash)


def all_nodes(session: Session) -> list[NodeRow]:
    return repository.all_nodes(session)


def set_draining(session: Session, node_id: UUID, *, draining: bool) -> Node:
    """When this has been committed, no process is placed on the node that is not there already: it waits for whoever is placing.

    Raises: NotFound.
    """
    wait_for_lock(session, PLACES)
    if not repository.set_draining(session, node_id, draining=draining):
        raise NotFound(f"There is no node {node_id}.", node=str(node_id))
    return _view_of(session, node_id)


def ask_to_rotate(session: Session, node_id: UUID) -> Node:
    """The node's agent reads it in the answer to its next heartbeat. Raises: NotFound."""
    if not repository.set_rotating(session, node_id):
        raise NotFound(f"There is no node {node_id}.", node=str(node_id))
    return _view_of(session, node_id)


def remove(session: Session, platform: Platform, node_id: UUID, *, actor: str) -> None:
    """From the commit on its token is refused, and its account on the live Redis is closed. Processes of a node that drains are
    lost, and are placed elsewhere.

    Raises: NotFound. Conflict: processes run there, and it does not drain.
    """
    wait_for_lock(session, PLACES)
    node = repository.lock(session, node_id)
    if node is None:
        raise NotFound(f"There is no node {node_id}.", node=str(node_id))
    running = len(jobs.live_processes(session, node_id=node_id))
    if running and node.draining_since is None:
        many = f"{running} processes run" if running > 1 else "A process runs"
        raise Conflict(f"{many} on {node.name}. Drain it first: `gradstream node drain {node.name}`.", processes=running)
    node.removed_at, node.status = now(session), NodeStatus.LOST
    lose_processes(session, node_id, f"{node.name} was removed", actor=actor)
    after_commit(session, ("account", node_id), partial(close_account, platform.live, node_id))


def _view_of(session: Session, node_id: UUID) -> Node:
    return _view(session.get_one(NodeRow, node_id), _Running.read(session, jobs.live_processes(session, node_id=node_id)))


def listing(session: Session) -> Nodes:
    running = _Running.read(session, jobs.live_processes(session))
    return Nodes(items=[_view(node, running) for node in repository.all_nodes(session)])


_MADE = frozenset({"slots_used", "gpus", "processes"})
"""Fields of a view that no column holds as they are."""


@dataclass(frozen=True, slots=True)
class _Running:
    """The processes that run, with their jobs and what they take."""

    rows: Sequence[ProcessRow]
    jobs: Mapping[UUID, JobRow]
    usage: Mapping[UUID, Mapping[str, float]]

    @classmethod
    def read(cls, session: Session, rows: Sequence[ProcessRow]) -> Self:
        found = {job.id: job for job in jobs.several(session, [row.job_id for row in rows])}
        return cls(rows, found, usage.latest(found.values(), rows))


def _view(node: NodeRow, running: _Running) -> Node:
    rows = [row for row in running.rows if row.node_id == node.id]
    return Node(
        **{name: getattr(node, name) for name in Node.model_fields if name not in _MADE},
        slots_used=sum(row.slot is not None for row in rows),
        gpus=[_gpu(gpu, rows) for gpu in node.gpus],
        processes=[_process(row, running.jobs[row.job_id].name, running.usage.get(row.id, {})) for row in rows],
    )


def _gpu(gpu: dict[str, Any], running: list[ProcessRow]) -> NodeGpu:
    there = [process for process in running if gpu["index"] in process.gpus]
    used = sum(process.gpus.count(gpu["index"]) / process.gpu_share for process in there)
    return NodeGpu(**gpu, used=round(used, 4), used_by=[process.id for process in there])


def _process(row: ProcessRow, job: str, taken: Mapping[str, float]) -> NodeProcess:
    return NodeProcess(
        id=row.id,
        job_id=row.job_id,
        job=job,
        label=row.label,
        status=ProcessStatus(row.status),
        slot=row.slot,
        gpus=row.gpus,
        gpu_share=row.gpu_share,
        started_at=row.started_at,
        cpu=taken.get("cpu"),
        memory=_whole(taken.get("memory")),
        gpu=taken.get("gpu"),
        gpu_memory=_whole(taken.get("gpu_memory")),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)

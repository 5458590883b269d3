"""Taking the steps that `decide` names. Each is written in one transaction under the job's lock, after another look: if
the situation calls for another step by now, nothing is written. Redis learns of it before the commit (where a repeat is harmless)
or after it (where a loss is)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from uuid import UUID

import structlog
from redis import Redis
from sqlalchemy.orm import Session

from backend.artifacts import exports
from backend.away import AWAY
from backend.db import PLACES, after_commit, now, try_lock
from backend.hints import Hints
from backend.jobs import feed, lifecycle
from backend.jobs import repository as job_rows
from backend.jobs import service as jobs
from backend.jobs.lifecycle import End
from backend.jobs.models import JobRow, ProcessRow
from backend.jobs.states import switch
from backend.logs import service as logs
from backend.metrics import ingest
from backend.nodes import trouble
from backend.platform import Platform
from backend.scheduler import finish, rollback
from backend.scheduler.decide import (
    START_TIMEOUT,
    Fail,
    Finish,
    PostStop,
    Prepare,
    RequestExport,
    Respawn,
    Restart,
    Run,
    SettleShards,
    Step,
    Succeed,
    TakeCheckpoint,
    TimeOut,
    decide,
)
from backend.scheduler.placing import queue
from backend.scheduler.placing.placement import Place, place_again, place_group_again
from backend.scheduler.situation import SHARDED, Situation, load
from gradstream.api.statuses import AttemptStatus, JobStatus
from gradstream.center.ledger import Account
from gradstream.events import EventKind
from gradstream.process.headline import drop_reason
from gradstream.process.order import plane_id
from gradstream.wire import plane

log = structlog.get_logger(__name__)

_ACTOR = "controller"


@dataclass(frozen=True, slots=True)
class Steps:
    platform: Platform
    hints: Hints

    def advance(self, job_id: UUID) -> Step | None:
        """Take the job's next step, if there is one. Raises: what Postgres or Redis raise when they are away."""
        situation = self._look(job_id)
        if situation is None:
            return None
        there = self._plane_there(situation)
        step = self._decide(situation, there)
        if step is None:
            return None
        accounts = self._before(step, situation)
        with self.platform.database.transaction() as session:
            job = job_rows.lock(session, situation.job_id)
            if job is None or self._decide(load(session, job), there) != step:
                return None
            self._write(session, job, step, accounts)
        return step

    def _look(self, job_id: UUID) -> Situation | None:
        with self.platform.database.transaction() as session:
            job = job_rows.get(session, job_id)
            return load(session, job) if job else None

    def _decide(self, situation: Situation, plane_there: bool) -> Step | None:
        return decide(situation, plane_there=plane_there, start_timeout=self.platform.settings.start_timeout.total_seconds())

    def _plane_there(self, situation: Situation) -> bool:
        return situation.status not in (JobStatus.STARTING, JobStatus.RUNNING) or plane.exists(
            self.platform.plane, situation.plane_id
        )

    def _before(self, step: Step, situation: Situation) -> dict[int, Account]:
        """Prepare the step before it is written; harmless to repeat. For an end, return the outcome of each rank's pushes."""
        redis, j = self.platform.plane, situation.plane_id
        match step:
            case Prepare():
                plane.create(redis, j, password=self.platform.derived.plane_password(j))
            case PostStop():
                plane.control_stop(redis, j, "the job is stopped")
            case Respawn():
                self._post_leave(redis, j, situation, step)
            case Restart() | SettleShards():
                ingest.ingest(self.platform.database, redis, situation.job_id, situation.attempt)
                return plane.ledger(redis, j)
            case Succeed() | Finish():
                return finish.prepare(self.platform, situation)
        return {}

    def _post_leave(self, redis: Redis, j: str, situation: Situation, step: Respawn) -> None:
        with self.platform.database.transaction() as session:
            process = job_rows.process(session, step.process)
        if process is not None:
            worker = situation.spec.roles.worker_of(process.role, process.rank)
            plane.post_leave(redis, j, process.rank if worker is None else worker, process.incarnation, "lost")

    def _write(self, session: Session, job: JobRow, step: Step, accounts: dict[int, Account]) -> None:
        match step:
            case Prepare():
                lifecycle.current_attempt(session, job).status = AttemptStatus.STARTING
                queue.hint_nodes(session, self.hints, job)
            case Run():
                self._run(session, job)
            case Respawn():
                self._respawn(session, job, step)
            case Restart():
                self._restart(session, job, step, accounts)
            case SettleShards():
                self._shard(session, job, step, accounts)
            case Fail():
                self._fail(session, job, step)
            case TimeOut(message):
                self._time_out(session, job, message)
            case PostStop():
                lifecycle.current_attempt(session, job).stop_posted = True
            case TakeCheckpoint() | RequestExport():
                self._save(session, job, step)
            case Succeed():
                finish.succeed(session, self.platform, job)
            case Finish():
                finish.finish(session, self.platform, job, accounts)

    def _run(self, session: Session, job: JobRow) -> None:
        attempt = lifecycle.current_attempt(session, job)
        attempt.status, attempt.running_at = AttemptStatus.RUNNING, now(session)
        switch(session, job, JobStatus.RUNNING, actor=_ACTOR, message="All processes run.")

    def _respawn(self, session: Session, job: JobRow, step: Respawn) -> None:
        """Start the next incarnation on a machine where it fits. Without any, the others go on and a later pass tries again."""
        process = job_rows.process(session, step.process)
        assert process is not None, "it is part of the situation"
        if not try_lock(session, PLACES):
            return
        rows, places = self._places_again(session, job, process)
        meanwhile = lifecycle.while_away(process.role, jobs.spec_of(job))
        if not places:
            what = "a machine" if len(rows) == 1 else f"{len(rows)} machines"
            self._note_waiting(session, job, f"{step.label} waits for {what} with free capacity; {meanwhile}.")
            return
        for row in rows:
            row.replaced, row.seq = True, feed.take(session, job)
        job.retries_used += step.charged
        job.reason, job.message = None, "All processes run."
        for where in places:
            queue.add_process(session, job, where, process.incarnation + 1)
        ended, nodes = _refer(session, job, step.message), " and ".join(where.node for where in places)
        message = f"{ended} {'It' if len(rows) == 1 else 'Its group'} restarts on {nodes}; {meanwhile}."
        feed.record(
            session,
            job,
            EventKind.PROCESS,
            message,
            actor=_ACTOR,
            data={"label": step.label, "incarnation": process.incarnation + 1},
        )
        feed.changed(session, job)
        queue.hint_nodes(session, self.hints, job)

    def _places_again(self, session: Session, job: JobRow, process: ProcessRow) -> tuple[list[ProcessRow], list[Place]]:
        """Return the processes that start again with this one, and their next places; no places: they do not fit anywhere."""
        spec, machines = load(session, job).spec, queue.free_machines(session)
        worker = spec.roles.worker_of(process.role, process.rank)
        if worker is None or spec.roles.worker.group.machines == 1:
            place = place_again(process.role, process.rank, spec, machines, process.node_id, process.gpus)
            return [process], [place] if place else []
        live = [row for row in job_rows.processes(session, job.id, job.attempt) if not row.replaced]
        rows = [row for row in live if spec.roles.worker_of(row.role, row.rank) == worker]
        return rows, place_group_again(worker, spec, machines, {row.node_id: row.gpus for row in rows})

    def _note_waiting(self, session: Session, job: JobRow, message: str) -> None:
        if job.message != message:
            job.reason, job.message = "no_capacity", message
            feed.record(session, job, EventKind.WARNING, message, actor=_ACTOR)
            feed.changed(session, job)

    def _restart(self, session: Session, job: JobRow, step: Restart, accounts: dict[int, Account]) -> None:
        if step.reason == START_TIMEOUT:
            for late in job_rows.live_processes(session, job_id=job.id):
                if late.started_at is None:
                    trouble.note(session, late.node_id, f"{late.label} of {job.name} did not start in time.")
        lifecycle.end_attempt(session, job, AttemptStatus.LOST, reason=step.reason, message=step.message)
        job.retries_used += step.charged
        used = f"{job.retries_used} of {job.spec['retries']} retries used" if step.charged else "not counted as a retry"
        lost = rollback.record_pushes(session, job, accounts)
        message = " ".join(filter(None, (step.message, lost, f"A new attempt follows ({used}).")))
        event = _refer(session, job, message)
        switch(session, job, JobStatus.QUEUED, actor=_ACTOR, reason=step.reason, message=message, event=event)
        queue.hint_nodes(session, self.hints, job)

    def _shard(self, session: Session, job: JobRow, step: SettleShards, accounts: dict[int, Account]) -> None:
        """Settle the number of shards. Little is lost by a new attempt: the first one has only just begun."""
        job.shards, job.shards_reason = step.count, step.reason
        message = f"roles.server.count: auto. {step.reason}"
        if step.count == 1:
            feed.record(session, job, EventKind.ATTEMPT, message, actor=_ACTOR, data={"shards": 1})
            feed.changed(session, job)
            return
        lifecycle.end_attempt(session, job, AttemptStatus.STOPPED, reason=SHARDED, message=message)
        follows = "A new attempt follows, not counted as a retry."
        told = " ".join(filter(None, (message, rollback.record_pushes(session, job, accounts), follows)))
        switch(session, job, JobStatus.QUEUED, actor=_ACTOR, reason=SHARDED, message=told)
        queue.hint_nodes(session, self.hints, job)

    def _fail(self, session: Session, job: JobRow, step: Fail) -> None:
        process = job_rows.process(session, step.process) if step.process else None
        data = {"process": process.label, "log_tail": logs.tail_of(session, process)} if process else {}
        event = _refer(session, job, step.message)
        event = f"{event} failed; the other processes are ended." if process and event == process.label else event
        lifecycle.begin_end(session, job, End(JobStatus.FAILED, step.reason, step.message, data=data, event=event), actor=_ACTOR)
        queue.hint_nodes(session, self.hints, job)

    def _time_out(self, session: Session, job: JobRow, message: str) -> None:
        if job.status == JobStatus.QUEUED:
            switch(session, job, JobStatus.TIMED_OUT, actor=_ACTOR, reason="timeout", message=message)
            return
        end = End(JobStatus.TIMED_OUT, "timeout", message, grace=self.platform.settings.stop_grace)
        lifecycle.begin_end(session, job, end, actor=_ACTOR)

    def _save(self, session: Session, job: JobRow, step: TakeCheckpoint | RequestExport) -> None:
        if isinstance(step, TakeCheckpoint):
            self._take_checkpoint(session, job, step.number)
        else:
            exports.request(session, self.platform, job)

    def _take_checkpoint(self, session: Session, job: JobRow, number: int) -> None:
        attempt = lifecycle.current_attempt(session, job)
        if number - 1 > (attempt.checkpoint or 0):
            message = f"Checkpoint {number - 1} timed out and was abandoned."
            feed.record(session, job, EventKind.WARNING, message, actor=_ACTOR, data={"checkpoint": number - 1})
        attempt.checkpoint_requested, attempt.checkpoint_requested_at = number, now(session)
        after_commit(
            session,
            ("checkpoint", job.id),
            partial(_post_checkpoint, self.platform.plane, plane_id(job.id, attempt.number), number),
        )


def _refer(session: Session, job: JobRow, message: str) -> str:
    """The message for an event, without the reasons that the events of this attempt's processes have told."""
    told = {process.message or "" for process in job_rows.processes(session, job.id, job.attempt)}
    for reason in sorted(told, key=len, reverse=True):
        message = drop_reason(message, reason)
    return message


def _post_checkpoint(redis: Redis, j: str, number: int) -> None:
    try:
        plane.control_checkpoint(redis, j, number)
    except AWAY as error:
        log.warning("a checkpoint could not be asked for; the next one will be", plane=j, checkpoint=number, error=str(error))

"""What comes next in a job's life, from plain situations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from backend.jobs.states import TRANSITIONS
from backend.scheduler.decide import (
    CHECKPOINT_TIMEOUT,
    EXPORT_TIMEOUT,
    KILL_TIMEOUT,
    MAX_FAILED_STARTS,
    MAX_UNCHARGED,
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
from backend.scheduler.situation import PlacedProcess, Situation
from gradstream.api.statuses import ENDED, AttemptStatus, JobStatus
from gradstream.process.exits import ExitReason
from gradstream.process.order import label
from gradstream.spec import JobSpec
from gradstream.spec.shard_count import ShardCount


def spec(**changes: Any) -> JobSpec:
    job = {
        "name": "job",
        "workload": {"entrypoint": "work:Work"},
        "strategy": {"name": "adag"},
        "stop": {"steps": 1},
        "retries": 2,
    }
    return JobSpec.model_validate({**job, **changes})


def process(role: Any, rank: int = 0) -> PlacedProcess:
    return PlacedProcess(uuid4(), role, label(role, rank), running=True, ended=False, rank=rank)


SERVER, WORKER, OTHER, EVALUATOR = process("server"), process("worker"), process("worker", 1), process("evaluator")

RUNNING = Situation(
    job_id=UUID(int=1),
    status=JobStatus.RUNNING,
    spec=spec(),
    retries_used=0,
    running_for=10,
    attempt=1,
    attempt_status=AttemptStatus.RUNNING,
    attempt_age=10,
    stop_posted=False,
    stop_overdue=None,
    processes=(SERVER, WORKER, OTHER, EVALUATOR),
    ended_for=0,
    checkpoint_requested=0,
    since_checkpoint_request=0,
    checkpoint_committed=None,
    final_checkpoint=False,
    model=False,
)
STARTING = replace(RUNNING, status=JobStatus.STARTING, attempt_status=AttemptStatus.STARTING)
STOPPING = replace(RUNNING, status=JobStatus.STOPPING, stop_overdue=-20.0)


def next_step(now: Situation, *, plane_there: bool = True) -> Step | None:
    return decide(now, plane_there=plane_there, start_timeout=120)


def ended(now: Situation, which: PlacedProcess, reason: ExitReason, message: str = "") -> Situation:
    dead = replace(which, running=False, ended=True, reason=reason, message=message)
    return replace(now, processes=tuple(dead if each.id == which.id else each for each in now.processes))


def all_ended(now: Situation, reason: ExitReason = ExitReason.DONE) -> Situation:
    for each in now.processes:
        now = ended(now, each, reason)
    return now


def test_a_job_that_trains_is_left_alone() -> None:
    assert next_step(RUNNING) is None


def test_start() -> None:
    assert next_step(replace(STARTING, attempt_status=AttemptStatus.PREPARING), plane_there=False) == Prepare()
    waiting = replace(STARTING, processes=(replace(WORKER, running=False), OTHER))
    assert next_step(waiting) is None
    assert next_step(STARTING) == Run()
    late = next_step(replace(waiting, attempt_age=121))
    assert late == Restart("start_timeout", "worker-0 did not start within 120 s.", charged=False)
    assert isinstance(next_step(replace(waiting, attempt_age=121, failed_starts=MAX_FAILED_STARTS - 2)), Restart)
    assert isinstance(next_step(replace(waiting, attempt_age=121, failed_starts=MAX_FAILED_STARTS - 1)), Fail)
    assert next_step(all_ended(STARTING)) == Run(), "a job that was over before it was seen running"


def test_success_needs_the_last_checkpoint_and_the_model() -> None:
    done = all_ended(RUNNING)
    assert next_step(replace(done, final_checkpoint=True, model=True)) == Succeed()
    assert isinstance(next_step(replace(done, final_checkpoint=True)), Restart)
    assert isinstance(next_step(replace(done, model=True)), Restart)
    assert next_step(replace(done, final_checkpoint=True, model=True), plane_there=False) == Succeed(), (
        "Redis is not needed any more"
    )


@pytest.mark.parametrize("reason", [ExitReason.USER_ERROR, ExitReason.LOSS_NOT_FINITE, ExitReason.DATASET_TOO_SMALL])
def test_what_would_happen_again_fails_the_job(reason: ExitReason) -> None:
    assert next_step(ended(RUNNING, WORKER, reason, "no")) == Fail(reason, "worker-0: no", WORKER.id)


def test_the_mistake_counts_not_its_consequences() -> None:
    now = ended(ended(RUNNING, SERVER, ExitReason.KILLED), OTHER, ExitReason.USER_ERROR, "no")
    assert isinstance(next_step(now), Fail)


def test_a_lost_shard_restarts_all_and_costs_a_retry() -> None:
    now = ended(RUNNING, SERVER, ExitReason.KILLED, "killed by signal 9")
    assert next_step(now) == Restart("killed", "server-0 ended: killed by signal 9.", charged=True)
    assert isinstance(next_step(replace(now, retries_used=2)), Fail)


@pytest.mark.parametrize("reason", [ExitReason.PLANE_LOST, ExitReason.NODE_LOST])
def test_the_machines_fault_is_not_charged_but_bounded(reason: ExitReason) -> None:
    now = replace(ended(RUNNING, SERVER, reason), retries_used=2)
    step = next_step(now)
    assert isinstance(step, Restart)
    assert not step.charged
    assert isinstance(next_step(replace(now, attempt=2 + MAX_UNCHARGED + 1)), Fail)


@pytest.mark.parametrize("reason", [ExitReason.CANNOT_START, ExitReason.NODE_UNFIT])
def test_a_failed_start_is_not_charged_but_bounded(reason: ExitReason) -> None:
    now = replace(ended(STARTING, SERVER, reason, "No space left on device"), retries_used=2)
    step = next_step(now)
    assert step == Restart(str(reason), "server-0 ended: No space left on device.", charged=False)
    last = next_step(replace(now, failed_starts=MAX_FAILED_STARTS - 1))
    assert isinstance(last, Fail)
    assert "No space left on device" in last.message
    assert "5 times in a row" in last.message


def test_a_respawn_that_cannot_start_is_not_charged_but_bounded() -> None:
    now = replace(ended(RUNNING, WORKER, ExitReason.NODE_UNFIT, "no memory"), retries_used=2)
    assert next_step(now) == Respawn(WORKER.id, "worker-0", "worker-0 ended: no memory.", charged=False)
    again = tuple(replace(p, failed_starts=MAX_FAILED_STARTS) if p.id == WORKER.id else p for p in now.processes)
    assert isinstance(next_step(replace(now, processes=again)), Fail)


def test_a_process_whose_node_is_lost_has_not_ended_by_itself() -> None:
    step = next_step(ended(RUNNING, SERVER, ExitReason.NODE_LOST, "the agent of vm was started again"))
    assert step == Restart("node_lost", "server-0 was lost: the agent of vm was started again.", charged=False)


def test_a_process_that_is_lost_again_and_again_is_not_charged_but_bounded() -> None:
    now = ended(RUNNING, WORKER, ExitReason.NODE_LOST)
    for lost, kind in ((MAX_UNCHARGED, Respawn), (MAX_UNCHARGED + 1, Fail)):
        again = tuple(replace(p, uncharged=lost) if p.id == WORKER.id else p for p in now.processes)
        assert isinstance(next_step(replace(now, processes=again)), kind)


def test_what_people_restart_by_hand_is_not_bounded() -> None:
    often = replace(RUNNING, attempt=2 * MAX_UNCHARGED, intended=2 * MAX_UNCHARGED - 1)
    assert isinstance(next_step(ended(often, SERVER, ExitReason.RESTARTED)), Restart)
    assert isinstance(next_step(ended(often, SERVER, ExitReason.NODE_LOST)), Restart), "nothing was lost before"
    lost_as_often = replace(often, attempt=often.attempt + MAX_UNCHARGED)
    assert isinstance(next_step(ended(lost_as_often, SERVER, ExitReason.RESTARTED)), Restart)
    assert isinstance(next_step(ended(lost_as_often, SERVER, ExitReason.NODE_LOST)), Fail)


def test_an_emptied_redis_restarts_all_without_charge() -> None:
    step = next_step(RUNNING, plane_there=False)
    assert step == Restart("plane_lost", "Redis came back without this attempt.", charged=False)


def test_a_lost_worker() -> None:
    now = ended(RUNNING, WORKER, ExitReason.KILLED)
    respawn = next_step(now)
    assert isinstance(respawn, Respawn)
    assert (respawn.process, respawn.charged) == (WORKER.id, True)
    assert isinstance(next_step(replace(now, spec=spec(on_worker_loss="restart"))), Restart)
    assert isinstance(next_step(replace(now, spec=spec(gate="bsp"))), Restart), "the default under bsp"
    assert isinstance(next_step(replace(now, retries_used=2)), Fail)
    assert isinstance(next_step(ended(now, SERVER, ExitReason.KILLED)), Restart), "no shard, no respawn"


def test_without_servers_a_lost_worker_is_respawned_if_it_holds_no_shard() -> None:
    roles = {"worker": {"count": 2}, "server": {"count": 0}}
    goes_on = spec(strategy={"name": "sync"}, roles=roles, on_worker_loss="continue")
    now = replace(RUNNING, spec=goes_on, processes=(WORKER, OTHER, EVALUATOR))
    respawn = next_step(ended(now, OTHER, ExitReason.KILLED))
    assert isinstance(respawn, Respawn)
    assert respawn.process == OTHER.id
    restart = next_step(ended(now, WORKER, ExitReason.KILLED))
    assert restart == Restart("killed", "worker-0 ended: killed. It held the model, so the others cannot go on without it.", True)
    by_gloo = ended(replace(now, spec=goes_on.with_collective("gloo")), WORKER, ExitReason.KILLED)
    assert next_step(by_gloo) == Restart(
        "killed", "worker-0 ended: killed. It stored the model, so the others cannot go on without it.", True
    )
    assert isinstance(next_step(ended(ended(now, OTHER, ExitReason.KILLED), WORKER, ExitReason.KILLED)), Restart)
    each_holds_one = replace(now, spec=spec(strategy={"name": "sync"}, roles=roles))
    assert isinstance(next_step(ended(each_holds_one, OTHER, ExitReason.KILLED)), Restart)


def test_a_lost_evaluator_is_respawned_whatever_the_gate() -> None:
    assert isinstance(next_step(replace(ended(RUNNING, EVALUATOR, ExitReason.KILLED), spec=spec(gate="bsp"))), Respawn)


def test_timeout() -> None:
    now = replace(RUNNING, spec=spec(timeout=9))
    assert next_step(now) == TimeOut("It ran for more than 9 s, its timeout.")
    assert isinstance(next_step(replace(now, status=JobStatus.QUEUED)), TimeOut), "also while it waits for a new attempt"
    assert next_step(replace(now, running_for=8)) is None


def test_stop() -> None:
    assert next_step(STOPPING) == PostStop()
    posted = replace(STOPPING, stop_posted=True)
    assert next_step(posted) is None
    assert next_step(all_ended(posted, ExitReason.KILLED)) == Finish()
    assert next_step(replace(posted, stop_overdue=1.0)) is None, "the agent kills now"
    assert next_step(replace(posted, stop_overdue=KILL_TIMEOUT + 1)) == Finish(), "bounded"
    assert next_step(replace(STOPPING, stop_overdue=0.0)) is None, "killed without a word: nothing to post"


def test_checkpoints_are_asked_for_one_at_a_time() -> None:
    due = replace(RUNNING, since_checkpoint_request=31)
    assert next_step(due) == TakeCheckpoint(1)
    assert next_step(replace(due, since_checkpoint_request=29)) is None
    assert next_step(replace(due, checkpoint_requested=1)) is None
    assert next_step(replace(due, checkpoint_requested=1, checkpoint_committed=1)) == TakeCheckpoint(2)
    assert next_step(replace(due, checkpoint_requested=1, since_checkpoint_request=CHECKPOINT_TIMEOUT + 1)) == TakeCheckpoint(2), (
        "given up"
    )
    large = replace(due, checkpoint_requested=1, since_checkpoint_request=CHECKPOINT_TIMEOUT + 1, to_store=400)
    assert next_step(large) is None, "it is being stored"
    assert next_step(replace(large, since_checkpoint_request=CHECKPOINT_TIMEOUT + 401)) == TakeCheckpoint(2)
    nobody_trains = ended(ended(due, WORKER, ExitReason.DONE), OTHER, ExitReason.DONE)
    assert next_step(nobody_trains) is None
    assert next_step(replace(due, final_checkpoint=True)) is None, "workers that are about to end, or died with their machine"
    assert next_step(replace(due, final_checkpoint=True, checkpoint_requested=1)) is None, "it would be told as given up"


def test_exports_are_requested_one_at_a_time() -> None:
    due = replace(RUNNING, spec=spec(export={"every": "5m"}), since_export_request=301.0)
    assert next_step(due) == RequestExport()
    assert next_step(replace(due, since_export_request=299.0)) is None
    assert next_step(replace(due, export_under_way=True)) is None
    assert next_step(replace(due, export_under_way=True, since_export_request=EXPORT_TIMEOUT)) == RequestExport(), "given up"
    failed = replace(due, export_under_way=True, export_retry_delay=20.0)
    assert next_step(replace(failed, since_export_request=19.0)) is None
    assert next_step(replace(failed, since_export_request=20.0)) == RequestExport(), "sooner than its interval"
    often = replace(failed, spec=spec(export={"every": "5s"}))
    assert next_step(replace(often, since_export_request=19.0)) is None, "and later, if that is short"
    assert next_step(replace(due, spec=spec(export={}))) is None, "one at the end"
    assert next_step(replace(due, export_is_current=True)) is None, "nothing has changed since"
    assert next_step(replace(due, spec=spec())) is None
    assert next_step(replace(due, final_checkpoint=True)) is None
    assert next_step(ended(ended(due, WORKER, ExitReason.DONE), OTHER, ExitReason.DONE)) is None


@pytest.mark.parametrize("status", sorted(ENDED))
def test_an_end_is_never_left(status: JobStatus) -> None:
    assert TRANSITIONS[status] == frozenset()
    assert next_step(replace(RUNNING, status=status)) is None


def test_every_state_is_in_the_table_and_can_be_reached() -> None:
    assert set(TRANSITIONS) == set(JobStatus)
    assert set().union(*TRANSITIONS.values()) == set(JobStatus)


def test_auto_shards_are_settled_as_soon_as_they_can_be() -> None:
    choice = ShardCount(3, "3 shards: why.")
    assert next_step(replace(RUNNING, shards=choice)) == SettleShards(3, "3 shards: why.")
    assert next_step(replace(STARTING, shards=choice)) == SettleShards(3, "3 shards: why.")
    assert next_step(replace(STARTING, attempt_status=AttemptStatus.PREPARING, shards=choice), plane_there=False) == Prepare()
    assert isinstance(next_step(replace(ended(RUNNING, SERVER, ExitReason.KILLED), shards=choice)), Restart), "first what is broken"
    assert next_step(replace(all_ended(RUNNING), final_checkpoint=True, model=True, shards=choice)) == Succeed(), (
        "too late to matter"
    )

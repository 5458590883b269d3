"""Stragglers: since when, why, what they cost and what would help, from pushes made by hand, whose numbers are known."""

from __future__ import annotations

import random
from typing import Any

import pytest

from backend.stragglers.causes import WorkerMachine
from backend.stragglers.diagnosis import diagnose, nothing
from backend.stragglers.remedies import accepted
from gradstream.api.stragglers import SlowWorker, Stragglers
from tests.unit.backend.recorded_pushes import BEGAN, Parts, Push, Recording, job, steady

SHARE = 125
"""Mini-batches of each worker. Seven at one a second and one at one in seven seconds together take 140 s for eight shares."""


def even(_: float) -> Parts:
    return {"compute": 1.0}


def recorded(slow: Any, elapsed: float, workers: int = 8) -> Recording:
    """The last worker is as `slow` says, the others take a second for a mini-batch."""
    pushes, ended = dict[int, list[Push]](), dict[int, float]()
    for rank in range(workers):
        pushes[rank] = steady(slow if rank == workers - 1 else even, SHARE, until=elapsed)
        if len(pushes[rank]) == SHARE:
            ended[rank] = pushes[rank][-1][0] - BEGAN
    return Recording(pushes, elapsed, ended)


def told(recording: Recording, left: float = 0.0, spec: Any = None, **more: Any) -> Stragglers:
    shares = dict.fromkeys(recording.pushes, SHARE)
    return diagnose(recording.measured(spec or job(len(shares)), shares=shares, left=left, **more))


def after(found: SlowWorker) -> tuple[float, float | None]:
    """Its begin and end, in seconds after the start of training."""
    return found.since.timestamp() - BEGAN, found.until and found.until.timestamp() - BEGAN


def test_a_worker_seven_times_slower_while_the_others_still_train() -> None:
    found = told(recorded(lambda _: {"compute": 7.0}, 100.0), left=775.0)
    [slow] = found.items
    assert (slow.label, slow.factor, slow.cause, slow.from_start, slow.until) == (
        "worker-7",
        pytest.approx(7),
        "compute",
        True,
        None,
    )
    assert [(part.name, part.seconds, part.others) for part in slow.parts] == [("compute", pytest.approx(7), pytest.approx(1))]
    assert found.message == "worker-7 is 7 times slower than the other workers, from its start."
    assert (found.seconds, found.lost_so_far, found.ideal) == (875, 0, pytest.approx(140, rel=0.01))
    assert found.lost_at_end == pytest.approx(750, rel=0.02)
    assert found.cost == (
        "The training takes about 15 min; with workers equally fast it would take about 2.1 min. "
        "So far it has cost nothing, as the others still train."
    )
    stop, demand = found.remedies
    assert (stop.setting, stop.seconds) == (None, pytest.approx(125, rel=0.01))
    assert "about 11 % of the training's mini-batches" in stop.message
    assert (demand.setting, demand.seconds) == ("data.deal: demand", pytest.approx(140, rel=0.01))


def test_what_it_has_cost_once_the_others_have_ended() -> None:
    found = told(recorded(lambda _: {"compute": 7.0}, 400.0), left=475.0)
    assert found.lost_so_far == pytest.approx(400 - 125, abs=1)
    stop = next(remedy for remedy in found.remedies if remedy.setting is None)
    assert stop.seconds == 400, "at once"


def test_a_training_that_has_ended_is_told_of_in_the_past() -> None:
    recording = recorded(lambda _: {"compute": 7.0}, 876.0)
    found = told(recording)
    assert found.message == "worker-7 was 7 times slower than the other workers, from its start to its end."
    assert found.lost_so_far == pytest.approx(750, abs=1)
    assert found.cost == "The training took 15 min. With workers equally fast it would have taken about 2.1 min."
    assert [remedy.setting for remedy in found.remedies] == ["data.deal: demand"], "nothing is left to stop"
    assert found.items[0].why.startswith("Computing took 7 s of a mini-batch, 1 s for the others. ")


def test_slow_from_the_middle_on() -> None:
    found = told(recorded(lambda at: {"compute": 1.0 if at < 60 else 7.0}, 120.0), left=395.0)
    [slow] = found.items
    assert after(slow) == (pytest.approx(60.45, abs=1), None)
    assert (slow.from_start, slow.factor) == (False, pytest.approx(7))
    assert found.message == "worker-7 is 7 times slower than the other workers, since 60 s after the start."
    demand = next(remedy for remedy in found.remedies if remedy.setting)
    assert demand.seconds == pytest.approx(60 + (1000 - 480) / (7 + 1 / 7), rel=0.01)


def test_slow_for_a_while_and_not_any_more() -> None:
    found = told(recorded(lambda at: {"compute": 7.0 if 20 < at < 50 else 1.0}, 100.0), left=55.0)
    [slow] = found.items
    assert after(slow) == (pytest.approx(20.45, abs=1), pytest.approx(55.45, abs=1))
    assert found.message == "worker-7 was 7 times slower than the other workers, from 20 s to 56 s of training. It is not slow now."
    assert found.lost_at_end == pytest.approx(30, abs=1), "five mini-batches took 35 s"
    assert all(remedy.setting for remedy in found.remedies), "there is none to stop"
    assert slow.why.startswith("Computing took 7 s of a mini-batch, 1 s for the others.")


def test_a_job_that_was_stopped_says_what_it_has_cost_until_then() -> None:
    recording = recorded(lambda _: {"compute": 7.0}, 400.0)
    found = told(recording, left=None, running=False)  # type: ignore[arg-type]
    assert found.message == "worker-7 was 7 times slower than the other workers, from its start to its end."
    assert found.cost == (
        "It has cost about 4.6 min. The cost of a whole training is not predicted: the job ended before all was trained."
    )
    assert found.remedies == []


def test_slow_by_its_data() -> None:
    found = told(recorded(lambda _: {"compute": 1.0, "data": 3.0}, 100.0), left=400.0)
    [slow] = found.items
    assert (slow.cause, slow.factor) == ("data", pytest.approx(4))
    assert slow.why == "Waiting for mini-batches takes 3 s of a mini-batch, 0 ms for the others."
    fetch = next(remedy for remedy in found.remedies if remedy.setting == "data.processes: 2")
    assert fetch.seconds == pytest.approx(250, rel=0.01)


def test_slow_by_its_exchange_with_the_servers() -> None:
    """Under asp no worker waits for another, so what it waits for are responses."""
    found = told(recorded(lambda _: {"compute": 1.0, "wait": 2.0}, 100.0), left=275.0)
    assert [(slow.cause, slow.factor) for slow in found.items] == [("wait", pytest.approx(3))]
    assert found.items[0].why == "Waiting for responses of the servers takes 2 s of a mini-batch, 0 ms for the others."


def test_under_bsp_the_others_wait_and_only_one_is_slow() -> None:
    recording = Recording(
        {
            rank: steady(lambda _, rank=rank: {"compute": 3.0} if rank == 3 else {"compute": 1.0, "wait": 2.0}, 40)
            for rank in range(4)
        },  # type: ignore[misc]
        120.5,
        {},
    )
    spec = job(4, strategy={"name": "adag", "lr": 0.1}, gate="bsp")
    found = told(recording, left=SHARE * 3 - 120.5, spec=spec)
    [slow] = found.items
    assert (slow.rank, slow.cause, slow.factor) == (3, "compute", pytest.approx(3))
    assert found.lost_so_far == pytest.approx(80, abs=2), "each round takes 3 s instead of 1"
    assert found.lost_at_end == pytest.approx(250, rel=0.02)
    by = {remedy.setting: remedy.seconds for remedy in found.remedies}
    assert by["gate: asp, data.deal: demand"] == pytest.approx(500 / (3 + 1 / 3), rel=0.02)
    assert by[None] == pytest.approx(120 + (SHARE - 40), rel=0.03)


def test_equal_workers_are_no_stragglers_whatever_their_noise() -> None:
    for draw in (lambda own: own.lognormvariate(0, 0.5), lambda own: own.expovariate(1.0)):
        for seed in range(2):
            own = random.Random(seed)
            pushes = {rank: steady(lambda _: {"compute": draw(own)}, 1000, until=300.0) for rank in range(4)}  # noqa: B023
            found = told(Recording(pushes, 300.0, {}), left=100.0)
            assert found.items == []
            assert found.message.startswith("All 4 workers are about equally fast")


def test_one_long_pause_makes_no_straggler() -> None:
    assert told(recorded(lambda at: {"compute": 6.0 if 40 <= at < 41 else 1.0}, 100.0), left=30.0).items == []


def test_a_newcomer_and_those_that_have_ended_are_compared_fairly() -> None:
    """One joins late; the others have ended before it has worked for long. It is as fast as they were."""
    pushes = {rank: steady(even, SHARE) for rank in range(3)} | {3: steady(even, SHARE, begin=100.0, until=200.0)}
    found = told(Recording(pushes, 200.0, dict.fromkeys(range(3), 125.5)), left=25.0)
    assert found.items == []


def test_a_process_that_was_away_is_no_straggler() -> None:
    before, then = steady(even, 40), steady(even, SHARE, begin=90.0, until=120.0)
    pushes = {rank: steady(even, SHARE, until=120.0) for rank in range(3)} | {3: [*before, *then]}
    recording = Recording(pushes, 120.0, {})
    assert told(recording, left=55.0, away={3: [BEGAN + 41]}).items == []
    [slow] = told(recording, left=55.0).items
    assert slow.cause == "other", "without a restart it is not known what took so long"


def test_a_worker_that_makes_no_push_is_told_of_as_silent() -> None:
    pushes = {rank: steady(even, SHARE, until=100.0) for rank in range(3)} | {3: steady(even, SHARE, until=50.0)}
    found = told(Recording(pushes, 100.0, {}), left=None, silent={3: 50.0})  # type: ignore[arg-type]
    [slow] = found.items
    assert slow.why.startswith("It has made no push for 50 s.")
    assert found.lost_at_end is None
    assert "not predicted: the time left is not known" in (found.cost or "")


@pytest.mark.parametrize(
    ("own", "share", "said"),
    [
        (WorkerMachine("a", False, 4, 4, 2.0, None, 4), 0.4, "4 workers of this job share 2 physical cores of a."),
        (WorkerMachine("a", False, 1, 1, 4.0, 9.5, 4), 0.4, "a is overloaded: 9.5 processes want to run on its 4 processors."),
        (WorkerMachine("a", False, 1, 1, 4.0, 0.3, 4), 0.1, "So it probably waits inside of loss()"),
        (WorkerMachine("a", False, 1, 1, 4.0, 3.0, 4), 0.4, "the measurements do not decide."),
        (WorkerMachine("a", False, 1, 1, 4.0, 3.0, 4), 0.99, "a may be slower than the other machines"),
        (
            WorkerMachine("b", False, 8, 8, 2.0, 9.5, 4),
            0.1,
            "Other workers on b are not slow, so it probably waits inside of loss()",
        ),
        (WorkerMachine("b", False, 1, 1, 4.0, 3.0, 4), 0.99, "workers on the same machine are not slow"),
    ],
)
def test_the_machine_is_the_cause_only_where_that_is_measured(own: WorkerMachine, share: float, said: str) -> None:
    recording = recorded(lambda _: {"compute": 7.0}, 100.0)
    others = {rank: WorkerMachine("b", False, 1, 1, 4.0, None, 4) for rank in range(7)}
    on_core = {rank: recording.sums(rank, "compute", 100, 1.0) for rank in range(8)}
    for rank, sums in on_core.items():
        sums.total[:] = sums.count * (share if rank == 7 else 0.98)
    found = told(recording, left=775.0, machines=others | {7: own}, on_core=on_core)
    assert said in found.items[0].why
    fewer = [remedy.message for remedy in found.remedies if "fewer workers" in remedy.message]
    assert len(fewer) == ("share 2 physical cores" in said), "it is proposed where it is the cause"


def test_a_gpu_among_the_others_is_named() -> None:
    machines = {rank: WorkerMachine("b", rank < 7, 1, 1, 4.0, None, 4) for rank in range(8)}
    [slow] = told(recorded(lambda _: {"compute": 7.0}, 100.0), left=775.0, machines=machines).items
    assert slow.why.endswith("It computes on the CPU of b, and others on a GPU.")


def test_a_remedy_that_the_job_refuses_is_not_proposed() -> None:
    recording = recorded(lambda _: {"compute": 7.0}, 100.0)
    tables = told(recording, left=775.0, spec=job(8, tables={"users": {}}))
    assert [remedy.setting for remedy in tables.remedies] == [None]
    dealt = told(recording, left=40.0, spec=job(8, data={"deal": "demand"}))
    assert (dealt.remedies, dealt.lost_so_far) == ([], pytest.approx(100 * (1 - (7 + 1 / 7) / 8), abs=1))
    assert accepted(job(8), {"data": {"deal": "demand"}, "gate": "bsp"}) is None


def test_sync_needs_another_strategy_to_deal_on_demand() -> None:
    spec = job(8, strategy={"name": "sync", "lr": 0.1})
    recording = Recording(
        {
            rank: steady(lambda _, rank=rank: {"compute": 7.0 if rank == 7 else 1.0, "wait": 0.0 if rank == 7 else 6.0}, 14)
            for rank in range(8)
        },  # type: ignore[misc]
        98.5,
        {},
    )
    [demand, stop] = told(recording, left=777.0, spec=spec).remedies
    assert demand.setting == "strategy.name: async, gate: asp, data.deal: demand"
    assert "Pushes are stale then" in demand.message
    assert stop.setting is None


def test_without_a_closed_form_nothing_is_predicted() -> None:
    recording = recorded(lambda _: {"compute": 7.0}, 100.0)
    cohort = told(recording, left=775.0, spec=job(8, strategy={"name": "sync", "lr": 0.1}, gate={"mode": "bsp", "cohort": 0.5}))
    assert (cohort.lost_at_end, cohort.remedies) == (None, [])
    assert cohort.cost == "The cost is not predicted: gate.cohort draws the workers of each round at random."
    wrong = told(recording, left=300.0)
    assert "the recorded times do not reproduce the job's duration" in (wrong.cost or "")


def test_one_worker_has_no_other_to_be_slower_than() -> None:
    assert nothing(1, job(1, strategy={"name": "single", "lr": 0.1}), "").message.startswith("One worker trains alone")

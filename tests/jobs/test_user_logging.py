"""Values that a workload logs in a whole job: their worker and place, their means, and the bound of their names."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gradstream.metrics import Point
from gradstream.user_logging.names import MAX_NAMES
from tests.platforms import Lab

EPOCHS, PER_EPOCH = 30, 4
HOOKS = {f"user/hooks/{name}" for name in ("start", "epoch", "epoch_end", "checkpoint", "end")}
LOGS = {"entrypoint": "logs_values:Logs"}


def of_rank(points: list[Point], rank: int) -> list[Point]:
    return sorted((point for point in points if point.rank == rank), key=lambda point: point.step)


def test_workers_and_the_evaluator_report_what_their_code_logs(lab: Lab) -> None:
    job = lab.submit(
        "logs",
        workload=LOGS,
        strategy={"name": "sync", "lr": 0.01},
        batch_size=8,
        checkpoint={"every": "2 epochs"},
        evaluate={"every": "5 epochs", "batch_size": 4},
        stop={"epochs": EPOCHS},
    )
    job = lab.ended(job)
    assert job.status == "succeeded", job.message
    measured = {name for name in lab.client.measured(job.id) if name.startswith("user/")}
    assert measured == HOOKS | {"user/loss", "user/examples", "user/eval/input", "user/eval/hooks/loss"}
    losses, logged = lab.points(job, "train/loss"), lab.points(job, "user/loss")
    for rank in range(2):
        every, means = of_rank(losses, rank), of_rank(logged, rank)
        assert [point.step for point in every] == list(range(EPOCHS * PER_EPOCH))
        assert means[-1].step >= EPOCHS * PER_EPOCH - 1
        for before, point in pairwise([every[0]._replace(step=-1), *means]):
            between = [loss for loss in every if before.step < loss.step <= point.step]
            assert point.value == pytest.approx(sum(loss.value for loss in between) / len(between), rel=1e-5)
            if between[-1].step == point.step:
                assert (point.samples, point.version) == (between[-1].samples, between[-1].version)
        hooks = {name: [point.value for point in of_rank(lab.points(job, name), rank)] for name in HOOKS}
        assert hooks["user/hooks/start"] == [2.0]
        assert hooks["user/hooks/end"] == [1.0]
        assert hooks["user/hooks/epoch_end"][-1] == hooks["user/hooks/epoch"][-1] == EPOCHS - 1
        assert hooks["user/hooks/checkpoint"]
    assert {point.value for point in lab.points(job, "user/examples")} == {8.0}
    scored = lab.points(job, "eval/loss")
    assert [(p.rank, p.step, p.value) for p in lab.points(job, "user/eval/hooks/loss")] == [
        (p.rank, p.step, p.value) for p in scored
    ]
    inputs = [point.value for point in lab.points(job, "user/eval/input")]
    assert inputs == [pytest.approx(4.5 / 64, rel=1e-5)] * len(scored), "weighted by the examples of batches of 4, 4 and 2"


@pytest.mark.more
def test_too_many_names_raise_an_alert_once_for_each_worker(lab: Lab) -> None:
    job = lab.submit("many-names", workload=LOGS | {"args": {"names": MAX_NAMES}}, strategy={"name": "sync", "lr": 0.01})
    job = lab.ended(job)
    assert job.status == "succeeded", job.message
    told = [event.message for event in lab.client.events(job.id, kinds=["warning"])]
    for rank in range(2):
        [sentence] = [one for one in told if one.startswith(f"worker-{rank} logs values under more than {MAX_NAMES} names")]
        past = sentence.replace("logs values", "logged values").replace("names are", "names were")
        assert any(alert.startswith(past.partition(" Log under")[0]) for alert in job.progress.alerts), "the job has ended"
    stored = {point.name for point in lab.points(job) if point.name.startswith("user/") and point.rank >= 0}
    assert len(stored) == MAX_NAMES
    assert max(point.value for point in lab.points(job, "worker/log_dropped")) > 0

"""Evaluators of several processes, on the platform: undisturbed, and when one of the processes is killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from gradstream.api.jobs import Job
from tests.platforms import Lab, slow_until
from tests.support import eventually

FIELDS: dict[str, Any] = {"strategy": {"name": "sync", "lr": 0.05}, "stop": {"epochs": 8}}
PAUSE = 0.3
"""Seconds of a mini-batch until `go` is there."""


def of_processes(count: int) -> dict[str, Any]:
    """Four mini-batches in each evaluation."""
    return {"every": "64 samples", "batch_size": 16, "processes": count}


def scores(lab: Lab, job: Job) -> dict[tuple[int, str], float]:
    return {(point.samples, point.name): point.value for point in lab.points(job, "eval/loss")}


@pytest.mark.parametrize("victim", ["evaluator/1", pytest.param("evaluator", marks=pytest.mark.more)])
def test_a_killed_process_of_an_evaluator_ends_it_and_the_next_one_gives_the_scores_of_one_process(
    victim: str, lab: Lab, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    one = lab.ended(lab.submit("one", evaluate=of_processes(1), **FIELDS))
    job = lab.submit("two", args=slow_until(go, PAUSE), evaluate=of_processes(2), **FIELDS)
    eventually(lambda: scores(lab, job), "the first evaluation")
    [peer] = lab.pids("evaluator/1")
    lab.kill(victim)
    eventually(lambda: lab.process(job, "evaluator").incarnation == 1, "another evaluator")
    assert not psutil.pid_exists(peer)
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1), job.message
    assert scores(lab, job) == scores(lab, one)
    first = next(each for each in lab.client.processes(job.id) if (each.label, each.incarnation) == ("evaluator", 0))
    lost = "peer 1 of evaluator has ended (killed by signal 9), and with it the whole evaluator"
    killed = ("killed by signal 9", "killed") if victim == "evaluator" else (lost, "peer_lost")
    assert (first.message, first.reason) == killed
    eventually(lambda: not lab.pids("evaluator/1"), "the end of the peers")


def test_an_error_of_user_code_in_an_evaluator_of_several_processes_fails_the_job_with_its_place(lab: Lab) -> None:
    job = lab.ended(lab.submit("breaks", args={"breaks": "evaluate"}, retries=0, evaluate=of_processes(2), **FIELDS))
    assert (job.status, job.reason) == ("failed", "user_error")
    assert "broken in evaluate" in (job.message or "")

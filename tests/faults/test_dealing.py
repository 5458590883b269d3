"""Mini-batches dealt on demand in real processes: a slow worker, and one that is killed."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from gradstream.client import Job
from tests.platforms import Lab, slow_until
from tests.support import eventually

PLANNED = 96
"""Mini-batches of 256 examples in eight at a time, three times."""
FIELDS: dict[str, Any] = {"batch_size": 8, "stop": {"epochs": 3}, "data": {"deal": "demand"}, "roles": {"worker": {"count": 3}}}
STRATEGIES: dict[str, dict[str, Any]] = {
    "gradients": {"strategy": {"name": "async", "lr": 0.02}},
    "windows": {"strategy": {"name": "adag", "lr": 0.1, "window": 4}},
}
SSP = {"ssp": {"strategy": {"name": "adag", "lr": 0.1, "window": 4}, "gate": {"ssp": 2}}}


def trained(lab: Lab, job: Job) -> dict[int, int]:
    """Mini-batches of each worker, by its losses."""
    steps: dict[int, set[int]] = defaultdict(set)
    for point in lab.points(job, "train/loss"):
        steps[point.rank].add(point.step)
    return {rank: len(found) for rank, found in steps.items()}


def check_ledger(job: Job) -> None:
    """Each planned mini-batch counted once."""
    dealt = job.progress.dealt
    assert dealt is not None
    assert (dealt.planned, dealt.trained) == (PLANNED, PLANNED)
    assert (dealt.dropped, dealt.outstanding, dealt.returned, dealt.left) == (0, 0, 0, 0)
    assert job.progress.samples == job.progress.total_samples == 8 * PLANNED
    assert job.progress.done == 1


@pytest.mark.more
@pytest.mark.parametrize("kind", STRATEGIES)
def test_the_others_train_what_a_slow_worker_would_have_had(kind: str, lab: Lab, tmp_path: Path) -> None:
    args = {"straggler": str(tmp_path / "slow"), "lag": 0.35, "pause": 0.05}
    job = lab.ended(lab.submit("deals", args=args, **FIELDS, **STRATEGIES[kind]))
    assert (job.status, job.attempt) == ("succeeded", 1)
    check_ledger(job)
    counts = trained(lab, job)
    assert sum(counts.values()) == PLANNED
    assert min(counts.values()) < PLANNED / 5 < PLANNED / 3 < max(counts.values())


@pytest.mark.more
@pytest.mark.parametrize("kind", STRATEGIES | SSP)
def test_what_a_killed_worker_had_is_dealt_again(kind: str, lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = lab.submit("deals-and-dies", args=slow_until(go, 0.3), **FIELDS, **(STRATEGIES | SSP)[kind])
    lab.trains(job, 80)
    lab.kill("worker-1")
    eventually(lambda: lab.process(job, "worker-1").incarnation == 1, "a second incarnation")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 1)
    check_ledger(job)


@pytest.mark.more
def test_an_attempt_resumes_with_what_was_not_trained(lab: Lab, tmp_path: Path) -> None:
    go = tmp_path / "go"
    fields = {**FIELDS, "checkpoint": {"every": "160 samples"}}
    job = lab.submit("deals-on", args=slow_until(go, 0.3), **fields, **STRATEGIES["windows"])
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    lab.kill("server-0")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 2)
    check_ledger(job)


@pytest.mark.more
def test_a_worker_that_hangs_is_ended_and_what_it_had_is_dealt_again(lab: Lab, tmp_path: Path) -> None:
    """One process of the job hangs in its first steps, once."""
    fields = {**FIELDS, "roles": {"worker": {"count": 3, "step_timeout": 2}}}
    args = {"straggler": str(tmp_path / "slow"), "lag": 3600, "pause": 0.05}
    job = lab.ended(lab.submit("deals-and-hangs", args=args, **fields, **STRATEGIES["gradients"]))
    assert (job.status, job.attempt) == ("succeeded", 1)
    check_ledger(job)
    said = lab.messages(job)
    assert "user code ran for 2 s at " in said
    assert "without a step: the limit of roles.worker.step_timeout" in said

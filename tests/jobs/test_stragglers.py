"""A job with a worker that is really slow: its diagnosis over REST, against the exported points."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from gradstream.api.stragglers import StragglerRemedy, Stragglers
from gradstream.client import Job
from tests.headlines.check import api
from tests.platforms import Lab
from tests.support import eventually


@pytest.mark.more
def test_a_slow_worker_is_named_with_cause_cost_and_remedy(lab: Lab, tmp_path: Path) -> None:
    """One of three workers sleeps in `loss` for 0.35 s at each mini-batch, the others for 0.05 s."""
    job = lab.submit(
        "straggling",
        strategy={"name": "async", "lr": 0.01},
        batch_size=8,
        args={"straggler": str(tmp_path / "straggler"), "lag": 0.35, "pause": 0.05},
        stop={"epochs": 4},
        roles={"worker": {"count": 3, "device": "cpu"}, "server": {"count": 1}},
    )
    job = lab.ended(job)
    with api(lab) as rest:
        names = ["time/compute", "time/data", "time/send"]
        points = rest.get(f"/jobs/{job.id}/metrics/export", params={"name": names}).raise_for_status().text
    shares, began, paces, taken = _recomputed(points)
    slowest, found = min(paces, key=lambda rank: paces[rank]), lab.client.stragglers(job)
    [slow] = found.items
    assert (slow.rank, slow.cause, slow.from_start, slow.until) == (slowest, "compute", True, None)
    others = [rank for rank in paces if rank != slowest]
    whole = 1 / paces[slowest] / mean(1 / paces[rank] for rank in others)
    own = taken[slowest] / mean(taken[rank] for rank in others)
    assert slow.factor == pytest.approx(max(whole, own), rel=0.1), "of the whole time, or without what each waits for"
    assert "so it probably waited inside of loss()" in slow.why, "it sleeps, and the others on its machine do not so long"
    remedy = next(remedy for remedy in found.remedies if remedy.setting == "data.deal: demand")
    assert remedy.seconds == pytest.approx(sum(shares.values()) / sum(paces.values()), rel=0.2)
    ends = {rank: began[rank] + shares[rank] / paces[rank] for rank in shares}
    late = ends[slowest] - max(end for rank, end in ends.items() if rank != slowest)
    assert found.lost_so_far == pytest.approx(late, rel=0.2)
    [warning] = [event for event in lab.client.events(job.id) if event.kind == "warning"]
    assert (warning.data["rank"], warning.data["part"]) == (slowest, "compute")
    assert "Computing makes most of the difference." in warning.message
    [alert] = job.progress.alerts
    assert alert.startswith(f"worker-{slowest} was "), "the job has ended"
    assert "Workers tab" not in alert


@pytest.mark.more
def test_a_quorum_makes_a_job_without_an_end_as_fast_as_predicted(lab: Lab, tmp_path: Path) -> None:
    """The same job twice: in rounds of all three workers, and in rounds that end with the first two pushes."""

    def start(name: str, gate: Any) -> Job:
        args = {"straggler": str(tmp_path / name), "lag": 0.5, "pause": 0.05}
        roles = {"worker": {"count": 3, "device": "cpu"}, "server": {"count": 1}}
        strategy = {"name": "sync", "lr": 0.01}
        return lab.submit(name, strategy=strategy, gate=gate, batch_size=8, args=args, stop={"never": True}, roles=roles)

    def backups(found: Stragglers) -> list[StragglerRemedy]:
        return [remedy for remedy in found.remedies if remedy.setting == "gate: {mode: bsp, quorum: 2}"]

    job = start("rounds", "bsp")
    [predicted] = eventually(lambda: backups(lab.client.stragglers(job)), "a prediction")
    lab.ended(lab.client.stop(job.id))
    job = start("quorum", {"mode": "bsp", "quorum": 2})
    job = lab.trains(job, samples=2000)
    job = lab.ended(lab.client.stop(job.id))
    measured = job.progress.mean_samples_per_second
    assert measured is not None
    assert predicted.examples_per_hour == pytest.approx(3600 * measured, rel=0.25)
    assert measured > 3 * 8 / 0.5, "faster than the slow worker lets rounds of all be"


def _recomputed(exported: str) -> tuple[dict[int, int], dict[int, float], dict[int, float], dict[int, float]]:
    """The mini-batches of each worker, the time before its first push, its mini-batches per second since then, and the seconds of
    one that it takes itself."""
    pushes: dict[int, list[tuple[float, int]]] = defaultdict(list)
    own: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row in csv.DictReader(exported.splitlines()):
        own[int(row["rank"])][int(row["step"])] += float(row["value"])
        if row["name"] == "time/compute":
            pushes[int(row["rank"])].append((float(row["time"]), int(row["step"])))
    paces, shares, began, taken = {}, {}, {}, {}
    for rank, made in pushes.items():
        (first, steps), (last, total) = min(made), max(made)
        paces[rank], shares[rank] = (total - steps) / (last - first), total
        began[rank] = first - steps / paces[rank]
        taken[rank] = sum(seconds for step, seconds in own[rank].items() if step > steps) / (total - steps)
    return shares, began, paces, taken

"""The diagnosis of slow workers from stored points, and the events of their beginning and end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from backend.platform import Platform
from backend.scheduler.controller import Controller
from gradstream import metrics
from gradstream.metrics import Point
from gradstream.process.exits import ExitReason
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records
from tests.integration.backend.agent import Agent
from tests.integration.backend.running import Running

BEGAN = 1000.3
SHARE = 400


def send(platform: Platform, running: Running, source: str, number: int, points: list[Point]) -> None:
    fields = {"source": source, "batch": number, "points": records.pack_points(points)}
    platform.plane.xadd(keys.metrics(running.agent.order("worker-0").plane_id), fields)  # type: ignore[arg-type]
    running.controller.run_once()


def begin(platform: Platform, running: Running, began: float = BEGAN) -> None:
    points = [Point(metrics.ACTIVE.name, rank, 0, 0, 0, began, 1.0) for rank in range(2)]
    send(platform, running, "server-0.0", 0, points)
    for rank in range(2):
        send(platform, running, f"worker-{rank}.0", 0, [Point(metrics.SHARE.name, rank, 0, 0, 0, began, SHARE)])


def pushes(rank: int, pace: float, begin: float, end: float, step: int, began: float = BEGAN) -> list[Point]:
    """Pushes of one mini-batch each, all of whose time is computing, between these seconds after the start."""
    count = int((end - begin) * pace)
    return [
        Point(metrics.COMPUTE.name, rank, step + number, 0, 0, began + begin + (number + 0.5) / pace, 1 / pace)
        for number in range(count)
    ]


def look(running: Running) -> dict[str, Any]:
    answer = running.api.get(f"/jobs/{running.id}/stragglers")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_worker_that_is_slow_for_a_while_is_told_of_with_both_ends(running: Running, platform: Platform) -> None:
    assert look(running)["message"] == "The workers of this attempt have not begun to train."
    begin(platform, running)
    send(platform, running, "worker-0.0", 1, pushes(0, 2.0, 0, 50, 1))
    send(platform, running, "worker-1.0", 1, pushes(1, 0.5, 0, 50, 1))
    found = look(running)
    [slow] = found["items"]
    assert (slow["rank"], slow["cause"], slow["from_start"], slow["until"]) == (1, "compute", True, None)
    assert slow["factor"] == pytest.approx(4, rel=0.05)
    assert found["message"] == "worker-1 is 4 times slower than the other worker, from its start."
    assert found["ideal"] == pytest.approx(2 * SHARE / 2.5, rel=0.03)
    assert found["lost_at_end"] == pytest.approx(SHARE / 0.5 - SHARE / 2, rel=0.03)
    send(platform, running, "worker-0.0", 2, pushes(0, 2.0, 50, 180, 101))
    send(platform, running, "worker-1.0", 2, pushes(1, 2.0, 50, 180, 26))
    [over] = look(running)["items"]
    assert over["until"] is not None
    kinds = [
        (event["kind"], event["message"][:28]) for event in running.items("events") if event["kind"] in ("warning", "resolved")
    ]
    assert kinds == [("warning", "worker-1 is 4 times slower t"), ("resolved", "worker-1 is no longer slow: ")]


def test_a_job_without_an_end_says_what_it_learns_in_an_hour(
    api: httpx.Client, agent: Agent, controller: Controller, platform: Platform, tmp_path: Path
) -> None:
    """Rounds of 2 s, for which one worker computes, and of which the other waits 1.8 s."""
    changes = {"strategy": {"name": "adag", "lr": 0.1}, "gate": "bsp", "stop": {"never": True}, "batch_size": 4}
    running = Running(api, agent, controller, tmp_path, **changes)
    send(platform, running, "server-0.0", 0, [Point(metrics.ACTIVE.name, rank, 0, 0, 0, BEGAN, 1.0) for rank in range(2)])
    waits = [point._replace(name=metrics.WAIT.name, value=1.8) for point in pushes(0, 0.5, 0, 60, 1)]
    own = [point._replace(value=0.2) for point in pushes(0, 0.5, 0, 60, 1)]
    send(platform, running, "worker-0.0", 1, [*own, *waits])
    send(platform, running, "worker-1.0", 1, pushes(1, 0.5, 0, 60, 1))
    learned = [Point(metrics.NORM.name, -1, 0, 8 * round, round, BEGAN + 2 * round, 1.0) for round in range(1, 31)]
    send(platform, running, "server-0.0", 1, learned)
    found = look(running)
    assert [item["rank"] for item in found["items"]] == [1]
    assert found["examples_per_hour"] == pytest.approx(2 * 4 / 2 * 3600, rel=0.05)
    remedies = {remedy["setting"]: remedy for remedy in found["remedies"]}
    assert remedies["gate: asp"]["examples_per_hour"] == pytest.approx((5 + 0.5) * 4 * 3600, rel=0.05)
    assert remedies["gate: {mode: bsp, quorum: 1}"]["examples_per_hour"] == pytest.approx(5 * 4 * 3600, rel=0.05)
    assert found["seconds"] is None
    assert running.job["progress"]["alerts"][0].count("gate.quorum") == 1


def test_the_time_without_a_process_is_not_slow(running: Running, platform: Platform) -> None:
    began = time.time() - 50
    begin(platform, running, began)
    send(platform, running, "worker-0.0", 1, pushes(0, 2.0, 0, 140, 1, began))
    send(platform, running, "worker-1.0", 1, pushes(1, 2.0, 0, 50, 1, began))
    [silent] = look(running)["items"]
    assert silent["why"].startswith("It has made no push for 90 s.")
    running.agent.exit("worker-1", reason=ExitReason.KILLED, code=-9)
    running.controller.run_once()
    running.agent.run_all()
    send(platform, running, "worker-1.1", 1, pushes(1, 2.0, 90, 140, 101, began))
    assert look(running)["message"] == (
        "Both workers are about equally fast: neither takes twice as long as the other for its mini-batches."
    )


def test_an_unknown_job_has_none(running: Running) -> None:
    assert running.api.get(f"/jobs/{'0' * 8}-0000-0000-0000-{'0' * 12}/stragglers").status_code == 404

"""`roles.server.count: auto` in the control plane: one shard tells how large the model is, and that settles the number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from backend.platform import Platform
from backend.scheduler.controller import Controller
from gradstream.metrics import LARGEST, SLICE, Point
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records
from tests.integration.backend.agent import Agent
from tests.integration.backend.running import Running

AUTO = {"server": {"count": "auto"}, "worker": {"count": 2, "device": "cpu"}}
SMALL, LARGE = 80_000.0, 80_000_000.0

Begin = Callable[..., Running]


@pytest.fixture
def begin(api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path) -> Begin:
    """A running job of two workers on one machine with so many cores."""

    def begin(cpus: int = 16, **changes: Any) -> Running:
        agent.cpus = cpus
        agent.register()
        return Running(api, agent, controller, tmp_path, roles=AUTO, **changes)

    return begin


def tell(running: Running, platform: Platform, nbytes: float, batch: int = 0, largest: float = 0.0) -> None:
    """As its shard does, when it has got theta_0; and a pass of the controller."""
    j = running.agent.order("server-0").plane_id
    points = records.pack_points(
        [Point(name, -1, 0, 0, 0, 1000.0, value) for name, value in ((LARGEST.name, largest), (SLICE.name, nbytes))]
    )
    platform.plane.xadd(keys.metrics(j), {"source": "server-0.0", "batch": batch, "points": points})  # type: ignore[arg-type]
    running.controller.run_once()


def servers(running: Running) -> list[str]:
    return sorted(order.label for order in running.agent.heartbeat().values() if order.role == "server")


def test_a_large_model_begins_once_more_with_more_shards(begin: Begin, platform: Platform) -> None:
    running = begin()
    assert servers(running) == ["server-0"]
    assert running.job["shards"] == 1
    tell(running, platform, LARGE)
    assert running.status == ("queued", "sharded")
    assert running.agent.heartbeat() == {}, "the first attempt is over"
    running.end_all()
    running.start()
    job = running.job
    assert (job["status"], job["attempt"], job["retries_used"]) == ("running", 2, 0)
    assert job["spec"]["roles"]["server"]["count"] == "auto", "the job file stays as it was written"
    assert job["shards"] > 1
    assert servers(running) == sorted(f"server-{k}" for k in range(job["shards"]))
    assert {order.spec.roles.server.shards for order in running.agent.orders.values()} == {job["shards"]}
    [note] = [note for note in job["notes"] if note["pointer"] == "/roles/server/count"]
    assert note["message"].startswith(f"{job['shards']} shards: the center has 80 MB")
    first = next(attempt for attempt in running.items("attempts") if attempt["number"] == 1)
    assert (first["status"], first["reason"]) == ("stopped", "sharded")


@pytest.mark.more
def test_servers_that_need_whole_parameters_are_fewer(begin: Begin, platform: Platform) -> None:
    """A second server would save a tenth of the work of one with nine tenths of the model, and cost a message."""
    running = begin(strategy={"name": "async"}, optimizer={"name": "lars"})
    tell(running, platform, LARGE, largest=0.95 * LARGE)
    job = running.job
    assert (job["status"], job["attempt"], job["shards"]) == ("running", 1, 1)


def test_the_number_stays_whatever_is_told_later(begin: Begin, platform: Platform) -> None:
    running = begin()
    tell(running, platform, LARGE)
    running.end_all()
    running.start()
    before = running.job["shards"]
    tell(running, platform, 50 * LARGE)
    assert (running.job["shards"], running.status) == (before, ("running", None))


def test_a_small_model_goes_on_with_its_one(begin: Begin, platform: Platform) -> None:
    running = begin()
    tell(running, platform, SMALL)
    job = running.job
    assert (job["status"], job["attempt"], job["shards"]) == ("running", 1, 1)
    assert job["notes"][0]["message"].startswith("1 shard: the center has 0.08 MB")
    told = [event["message"] for event in running.items("events") if event["data"].get("shards") == 1]
    assert told == [f"roles.server.count: auto. {job['notes'][0]['message']}"]


def test_a_machine_without_a_free_core_has_one(begin: Begin, platform: Platform) -> None:
    running = begin(cpus=2)
    tell(running, platform, LARGE)
    assert running.job["shards"] == 1
    assert "0 of 2 cores are left" in running.job["notes"][0]["message"]


def test_with_a_checkpoint_it_is_too_late(begin: Begin, platform: Platform) -> None:
    running = begin()
    running.agent.commit_checkpoint(1)
    tell(running, platform, LARGE)
    assert (running.status, running.job["shards"]) == (("running", None), 1)
    assert "a checkpoint of one" in running.job["notes"][0]["message"]


def test_a_job_with_a_number_is_left_alone(running: Running, platform: Platform) -> None:
    running.agent.heartbeat()
    tell(running, platform, LARGE)
    assert (running.status, running.job["shards"], running.job["notes"]) == (("running", None), 1, [])

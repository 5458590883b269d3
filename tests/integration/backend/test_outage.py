"""Postgres or Redis away: requests say so, nothing ends, everything goes on when they are back."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from backend import commands
from backend.away import NotMigrated
from backend.platform import Platform
from backend.scheduler.controller import Controller
from backend.settings import BackendSettings
from gradstream.local.servers.postgres import Postgres
from gradstream.local.servers.redis import Redis
from gradstream.metrics import LOSS, Point
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import submit
from tests.support import eventually


@pytest.fixture
def own_postgres(short_dir: Path, password_file: Path) -> Iterator[Postgres]:
    """A Postgres that a test may stop. Without tables."""
    data, run, log = short_dir / "own", short_dir / "own-run", short_dir / "own.log"
    server = Postgres(data, run, log=log, password_file=password_file, durable=False)
    server.start()
    server.wait()
    yield server
    server.stop()
    shutil.rmtree(data)


@pytest.fixture
def own_redis(redis_server: Callable[..., Redis]) -> Redis:
    return redis_server()


@pytest.fixture
def settings(
    settings: BackendSettings, own_postgres: Postgres, own_redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> BackendSettings:
    """Those of the other tests, but with servers of its own."""
    own = settings.model_copy(update={"database_url": own_postgres.url, "plane_redis_url": own_redis.url})
    for name, value in own.model_dump(mode="json", exclude_unset=True, exclude_none=True).items():
        monkeypatch.setenv(f"GRADSTREAM_{name.upper()}", str(value))
    return own


@pytest.fixture
def platform(settings: BackendSettings) -> Iterator[Platform]:
    assert commands.migrate() == 0
    platform = Platform.open(settings)
    yield platform
    platform.close()


@pytest.fixture
def controller(platform: Platform) -> Iterator[Controller]:
    """One that runs by itself."""
    controller = Controller(platform)
    thread = threading.Thread(target=controller.run)
    thread.start()
    yield controller
    controller.stop()
    thread.join()


@pytest.mark.usefixtures("controller")
def test_postgres_away(api: httpx.Client, agent: Agent, own_postgres: Postgres, tmp_path: Path) -> None:
    job_id = submit(api, tmp_path)["id"]
    own_postgres.stop()
    refused = api.get(f"/jobs/{job_id}")
    assert (refused.status_code, refused.json()["type"]) == (503, "/problems/Unavailable")
    assert refused.headers["retry-after"]
    assert "the database" in refused.json()["detail"]
    own_postgres.start()
    own_postgres.wait()
    eventually(lambda: api.get(f"/jobs/{job_id}").status_code == 200, "the API to answer again")
    eventually(lambda: agent.heartbeat(), "the controller to place the job")
    agent.run_all()
    eventually(lambda: api.get(f"/jobs/{job_id}").json()["status"] == "running", "the job to run")


@pytest.mark.more
@pytest.mark.usefixtures("controller")
def test_the_planes_redis_frozen(api: httpx.Client, agent: Agent, own_redis: Redis, platform: Platform, tmp_path: Path) -> None:
    job_id = submit(api, tmp_path)["id"]
    eventually(lambda: agent.heartbeat(), "the controller to place the job")
    agent.run_all()
    eventually(lambda: api.get(f"/jobs/{job_id}").json()["status"] == "running", "the job to run")
    pid = own_redis.child.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    try:
        assert api.post(f"/jobs/{job_id}/stop").status_code == 200, "requests do not need it"
        assert len(agent.heartbeat()) == 4, "and nodes do not either"
    finally:
        os.kill(pid, signal.SIGCONT)
    j = agent.order("worker-0").plane_id
    points = records.pack_points([Point(LOSS.name, 0, 1, 1, 1, 1000.0, 2.0)])
    platform.plane.xadd(keys.metrics(j), {"source": "worker-0.0", "batch": 0, "points": points})
    eventually(lambda: api.get(f"/jobs/{job_id}").json()["progress"]["loss"] == 2.0, "the metrics to be stored")
    assert api.get(f"/jobs/{job_id}").json()["attempt"] == 1, "it is still the first attempt"


@pytest.mark.more
def test_programs_that_start_before_the_tables_wait_for_them(settings: BackendSettings) -> None:
    platform = Platform.open(settings)
    controller = Controller(platform)
    with pytest.raises(NotMigrated, match="python -m backend migrate"):
        controller.run_once()
    assert commands.migrate() == 0
    assert controller.run_once() is False
    controller.close()
    platform.close()

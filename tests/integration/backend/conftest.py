"""A control plane on real servers, in one process: the API over HTTP, the controller pass by pass."""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import uvicorn
from sqlalchemy import URL, Engine, create_engine, text

from backend import db, models
from backend.admission.connections import BoundedConnection
from backend.app import attach, build_app
from backend.metrics.store import folding
from backend.platform import Platform
from backend.scheduler.controller import Controller
from backend.settings import BackendSettings
from backend.users import service as users
from backend.users.schemas import CreateToken
from gradstream.local.servers.redis import Redis
from tests.integration.backend.agent import Agent, make_join_token
from tests.integration.backend.jobs import submit
from tests.integration.backend.metrics import STEPS, WORKERS, Stream, store
from tests.integration.backend.running import Running
from tests.support import TIMEOUT, Database

NODE_LOST_AFTER = timedelta(minutes=10)
"""Agents here are heard when a test says so, which may take a while."""


@pytest.fixture
def settings(database: Database, shared_redis: Redis, tmp_path: Path, password_file: Path) -> BackendSettings:
    signing_key = tmp_path / "signing-key"
    signing_key.write_text("a signing key that is only for tests")
    return BackendSettings(
        database_url=database.url,
        database_password_file=database.password_file,
        live_redis_url=shared_redis.url,
        live_redis_password_file=password_file,
        plane_redis_url=shared_redis.url,
        plane_redis_password_file=password_file,
        files_dir=tmp_path / "files",
        signing_key_file=signing_key,
        public_url="http://testserver",
        node_lost_after=NODE_LOST_AFTER,
    )


@pytest.fixture(scope="session", autouse=True)
def shared_engine() -> Iterator[None]:
    """The engines of all tests of a worker keep the statements that they compiled."""
    engines: dict[str, Engine] = {}

    def create_engine_once(url: URL, **options: Any) -> Engine:
        key = f"{url.render_as_string(hide_password=False)} {options}"
        if key not in engines:
            engines[key] = create_engine(url, **options)
        return engines[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(db, "create_engine", create_engine_once)
        yield


_EMPTY = text(
    "DO $$ BEGIN SET LOCAL session_replication_role = replica; "
    + " ".join(f"DELETE FROM {table.__tablename__};" for table in models.TABLES)
    + " END $$"
)
"""Delete all rows, in any order of the tables; TRUNCATE makes some 200 files anew, which takes 0.1 s."""


@pytest.fixture
def platform(settings: BackendSettings) -> Iterator[Platform]:
    platform = Platform.open(settings)
    yield platform
    with platform.database.transaction() as session:
        session.execute(_EMPTY)
    platform.close()


_built = functools.cache(build_app)
"""FastAPI works out the routes of an app at their first requests: 0.1 s for each router, for each app."""


@pytest.fixture
def server(platform: Platform) -> Iterator[str]:
    """The API over real HTTP; its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    app = attach(_built(platform.settings.page_dir), platform)
    config = uvicorn.Config(app, http=BoundedConnection, log_config=None, timeout_graceful_shutdown=2)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    running.should_exit = True
    thread.join()
    listening.close()


@pytest.fixture
def anonymous(server: str) -> Iterator[httpx.Client]:
    """The API, asked by nobody in particular."""
    with httpx.Client(base_url=f"{server}/api/v1", trust_env=False, verify=False, timeout=TIMEOUT) as client:
        yield client


@pytest.fixture
def token(platform: Platform) -> str:
    with platform.database.transaction() as session:
        return users.create_token(session, users.ensure_user(session, "ada").id, CreateToken(name="tests")).token


@pytest.fixture
def api(anonymous: httpx.Client, token: str) -> Iterator[httpx.Client]:
    """The API, asked by the user ada."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=anonymous.base_url, headers=headers, trust_env=False, verify=False, timeout=TIMEOUT) as client:
        yield client


@pytest.fixture
def join_token(platform: Platform) -> str:
    """For as many machines as a test needs."""
    return make_join_token(platform)


@pytest.fixture
def agent(anonymous: httpx.Client, join_token: str) -> Agent:
    """A registered machine with four slots."""
    return Agent(anonymous, join_token, "node-1", slots=4)


@pytest.fixture
def controller(platform: Platform) -> Iterator[Controller]:
    """One that runs a pass when a test says so."""
    controller = Controller(platform)
    yield controller
    controller.close()


@pytest.fixture
def running(api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path) -> Running:
    return Running(api, agent, controller, tmp_path)


@pytest.fixture
def stream(api: httpx.Client, platform: Platform, tmp_path: Path) -> Stream:
    return Stream(platform, UUID(submit(api, tmp_path)["id"]))


@pytest.fixture
def job_id(api: httpx.Client, tmp_path: Path) -> UUID:
    return UUID(submit(api, tmp_path)["id"])


@pytest.fixture
def trained(platform: Platform, job_id: UUID, monkeypatch: pytest.MonkeyPatch) -> UUID:
    """A job with some thousand points, folded now and then, the last of which are not folded yet."""
    monkeypatch.setattr(folding, "ENOUGH", 700)
    monkeypatch.setattr(folding, "ENOUGH_OF_EACH", 1)
    for first in range(0, STEPS, 50):
        for rank in range(WORKERS):
            store(platform, job_id, rank, range(first, first + 50))
    return job_id

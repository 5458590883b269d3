"""`gradstream down --json`: one JSON value, whatever happens. What a real platform reports: integration/local/test_platform.py."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from gradstream.cli.main import app
from gradstream.cli.platform import down

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
OBEDIENT = "import time; print('ready', flush=True); time.sleep(60)"
JOB = {
    "id": "1",
    "name": "large",
    "attempt": 2,
    "outcome": "missed",
    "checkpoint": 3,
    "checkpoint_attempt": 1,
    "pushes_rolled_back": 40,
}


@pytest.fixture
def holder(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A process that platform.json names as the platform of `tmp_path`."""
    with subprocess.Popen([sys.executable, "-c", request.param], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        started = psutil.Process(process.pid).create_time()
        known = {"pid": process.pid, "url": "http://x", "data_dir": str(tmp_path), "started": started, "run_dir": "/nowhere"}
        (tmp_path / "platform.json").write_text(json.dumps(known))
        yield process
        process.kill()


def run(folder: Path) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, ["down", "--json", "--data-dir", str(folder)])
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("holder", [STUBBORN], indirect=True)
def test_a_platform_that_does_not_end_is_an_error_in_json(
    holder: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(down, "_WITHIN", 0.2)
    code, told = run(tmp_path)
    assert (code, told["error"]["type"], told["error"]["exit_code"]) == (6, "Unavailable", 6)
    assert f"kill -9 {holder.pid}" in told["error"]["message"]


@pytest.mark.parametrize("holder", [OBEDIENT], indirect=True)
@pytest.mark.parametrize(("report", "jobs"), [({"sentences": ["large took none."], "jobs": [JOB]}, [JOB]), ({}, None), ([], None)])
def test_the_report_of_the_stop_is_passed_on(holder: subprocess.Popen[str], tmp_path: Path, report: Any, jobs: Any) -> None:
    """A report that cannot be read means that nothing is known of the jobs."""
    (tmp_path / "last-stop.json").write_text(json.dumps(report))
    began = time.monotonic()
    code, told = run(tmp_path)
    assert (code, told["ran"], told["stopped"], told["jobs"]) == (0, True, holder.pid, jobs)
    assert told["messages"] == (report["sentences"] if jobs else [])
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("holder", [OBEDIENT], indirect=True)
def test_a_platform_of_another_user_is_an_error_in_json(
    holder: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int, _signal: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(down.os, "kill", refuse)
    code, told = run(tmp_path)
    assert (code, told["error"]["type"]) == (5, "Denied")
    assert f"process {holder.pid} is another user's" in told["error"]["message"]

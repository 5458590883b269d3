"""`gradstream demo`, the first thing that a new user runs: from any folder, and without a terminal."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from safetensors.torch import load_file

from gradstream.client import Credentials
from tests.integration.cli.shared import COMMAND, free_port


def demo(tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    command = [*COMMAND, "demo", "--data-dir", str(tmp_path / "data"), "--port", str(free_port()), *options]
    return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def processes_of(data: Path) -> list[psutil.Process]:
    return [one for one in psutil.process_iter() if any(str(data) in word for word in _words(one))]


def _words(process: psutil.Process) -> list[str]:
    try:
        return [*process.cmdline(), *process.environ().values()]
    except psutil.Error:
        return []


@pytest.mark.timeout(400)
def test_it_trains_reports_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with demo(tmp_path, "--exit", "--json") as process:
        out, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    result = json.loads(out)
    assert result["status"] == "succeeded"
    assert result["eval_accuracy"] >= 0.97
    assert 0 < result["first_step_seconds"] < result["seconds"]
    assert result["samples_per_second"] > 0
    assert 0 <= result["mean_staleness"] <= 2
    assert sum(tensor.numel() for tensor in load_file(result["model_path"]).values()) == 64 * 256 + 256 + 256 * 10 + 10
    for words in ("Postgres", "samples"):
        assert words in said
    for link in ("/jobs/", "/sign-in"):
        assert link not in said, "of a platform that has ended by now"
    assert processes_of(tmp_path / "data") == []


@pytest.mark.timeout(400)
def test_it_stays_until_it_is_told_to_end(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        assert process.stderr
        for line in process.stderr:
            if "stays up until Ctrl-C" in line:
                break
        kept = Credentials.load(tmp_path / "data" / "client.json")
        listed = subprocess.run(
            [*COMMAND, "jobs", "--json"], env={"GRADSTREAM_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path)},
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        assert process.wait(60) == 130, said
    assert kept
    assert [job["status"] for job in json.loads(listed.stdout)["items"]] == ["succeeded"]
    assert processes_of(tmp_path / "data") == []

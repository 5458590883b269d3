"""A project of `gradstream init` in a user's hands: its tests, one plain process, and a real platform."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gradstream.client import Client
from tests.integration.cli.shared import Gradstream


@pytest.mark.more
def test_a_new_project_is_tested_trained_and_submitted_as_it_stands(gradstream: Gradstream, client: Client, tmp_path: Path) -> None:
    made = gradstream("init", "init-digits")
    assert made.returncode == 0, made.stderr
    tested = _pytest(tmp_path)
    assert tested.returncode == 0, tested.stdout
    assert "3 passed" in tested.stdout

    alone = gradstream("run", "init-digits", "--local", "--json")
    assert alone.returncode == 0, alone.stderr
    assert json.loads(alone.stdout)["target_reached"]
    plan = gradstream("submit", "init-digits", "--plan")
    assert plan.returncode == 0, plan.stderr
    assert "warning" not in plan.stderr

    job = gradstream("submit", "init-digits", "--follow", "--json")
    assert job.returncode == 0, job.stderr
    assert "warning" not in job.stderr
    told = json.loads(job.stdout)
    assert (told["name"], told["status"]) == ("init-digits", "succeeded")
    assert client.job(told["id"]).progress.eval["accuracy"] >= 0.95
    sent = json.loads(gradstream("submit", "init-digits", "--list", "--json").stdout)["files"]
    assert [file["path"] for file in sent] == ["README.md", "init_digits.py", "job.yaml", "test_init_digits.py"]


@pytest.mark.more
def test_its_tests_find_a_learning_rate_that_diverges(gradstream: Gradstream, tmp_path: Path) -> None:
    gradstream("init", "init-digits")
    job = tmp_path / "init-digits" / "job.yaml"
    job.write_text(job.read_text().replace("lr: 0.3", "lr: 3000"))
    assert _pytest(tmp_path).stdout.splitlines()[-1].startswith("2 failed, 1 passed")


def _pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "init-digits"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)

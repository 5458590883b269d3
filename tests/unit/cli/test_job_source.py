"""The job file that a command is given: a file, a folder, or standard input; and which files go with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gradstream.bundle import pack
from gradstream.cli.main import app
from gradstream.errors import InvalidBundle

JOB = 'version: 1\nname: circle\nworkload: {entrypoint: "%s"}\nstrategy: {name: sync}\nstop: {steps: 4}\n'


def run(*args: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "circle").mkdir()
    (tmp_path / "circle" / "circle.py").write_text("x = 1\n")
    (tmp_path / "circle" / "job.yaml").write_text(JOB % "circle:Circle")
    (tmp_path / "circle" / "id_rsa").write_text("key")
    (tmp_path / "circle" / "__pycache__").mkdir()
    return tmp_path / "circle"


def test_a_list_shows_what_would_be_sent_and_what_not_and_needs_no_platform(folder: Path) -> None:
    result = run("submit", folder, "--list")
    assert result.exit_code == 0, result.stderr
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["circle.py", "job.yaml"]
    assert "left out: id_rsa is a credential, by its name" in result.stderr
    assert "2 files, 1" in result.stderr
    told = json.loads(run("submit", folder / "job.yaml", "--list", "--json").stdout)
    assert [file["path"] for file in told["files"]] == ["circle.py", "job.yaml"]
    assert {each["path"]: each["why"] for each in told["left_out"]} == {"id_rsa": "credentials", "__pycache__/": "cache"}


def test_a_folder_without_a_job_file_says_what_to_name(tmp_path: Path) -> None:
    for command in ("submit", "train", "run"):
        result = run(command, tmp_path)
        assert result.exit_code == 4
        assert "has no job.yaml" in result.stderr


def test_standard_input_wants_its_code_named(folder: Path) -> None:
    text = (folder / "job.yaml").read_text()
    refused = run("submit", "-", "--list", stdin=text)
    assert refused.exit_code == 2
    assert "name its code with --code" in refused.stderr
    assert run("submit", "-", "--code", folder, "--list", stdin=text).exit_code == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_a_descriptor_never_packs_the_folder_that_it_seems_to_lie_in(name: str, folder: Path) -> None:
    for stdin in (subprocess.PIPE, (folder / "job.yaml").open()):
        text = (folder / "job.yaml").read_text() if stdin is subprocess.PIPE else None
        command = [sys.executable, "-m", "gradstream.cli.main", "submit", name, "--list"]
        done = subprocess.run(
            command,
            input=text,
            stdin=None if text else stdin,
            capture_output=True,
            text=True,
            env={**os.environ},
            check=False,
            timeout=60,
        )
        assert done.returncode == 2
        assert "name its code with --code" in done.stderr
        assert done.stdout == ""


def test_a_module_that_is_left_out_is_said_before_anything_is_sent(folder: Path) -> None:
    (folder / ".gitignore").write_text("circle.py\n")
    with pytest.raises(InvalidBundle, match=r"left out: circle\.py is listed in \.gitignore; take it in by a line `!circle\.py`"):
        pack(folder).require("circle:Circle")
    with pytest.raises(InvalidBundle, match=r"not in the code; its files: job\.yaml"):
        pack(folder).require("square:Square")

"""`gradstream init`: what it writes, and what it refuses before it writes anything."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gradstream import bundle, jobfile
from gradstream.cli.main import app

FILES = ["my_digits.py", "test_my_digits.py", "job.yaml", "README.md", ".gitignore"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*args: str | Path) -> Result:
    return CliRunner().invoke(app, ["init", *map(str, args)])


def test_it_prints_the_files_and_the_next_commands(here: Path) -> None:
    result = init("my-digits")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [f"my-digits/{name}" for name in FILES]
    assert sorted(path.name for path in (here / "my-digits").iterdir()) == sorted(FILES)
    for line in ("pytest my-digits", "gradstream run my-digits --local", "gradstream submit my-digits --follow"):
        assert line in result.stderr


def test_json_tells_the_same_to_programs(here: Path) -> None:
    told = json.loads(init("here/job", "--name", "my-digits", "--strategy", "single", "--json").stdout)
    assert told["files"] == [f"here/job/{name}" for name in FILES]
    assert (told["name"], told["entrypoint"], told["strategy"]) == ("my-digits", "my_digits:MyDigits", "single")
    assert told["next"][1] == "gradstream run here/job --local"
    spec = jobfile.load(here / "here/job/job.yaml")
    assert (spec.strategy.name, spec.roles.worker.count) == ("single", 1)
    assert bundle.pack(here / "here/job").holds("my_digits:MyDigits")


def test_a_dot_is_this_folder_with_whatever_else_is_in_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "my-digits").mkdir()
    (here / "my-digits" / "notes.txt").write_text("mine")
    monkeypatch.chdir(here / "my-digits")
    assert init(".").stdout.splitlines() == FILES
    assert Path("notes.txt").read_text() == "mine"


@pytest.mark.parametrize("taken", [*FILES, "my_digits/__init__.py"])
def test_one_file_that_is_there_keeps_all_from_being_written(here: Path, taken: str) -> None:
    """Also a link that leads nowhere, and a package that Python would import in place of the module."""
    path = here / "my-digits" / taken
    path.parent.mkdir(parents=True)
    path.symlink_to("nowhere")
    result = init("my-digits", "--json")
    assert result.exit_code == 1
    assert f"my-digits already has {taken}, and init replaces no file; name another FOLDER, or move it away" in result.stderr
    assert json.loads(result.stdout)["error"]["type"] == "Conflict"
    assert [each for each in (here / "my-digits").rglob("*") if not each.is_dir()] == [path]


def test_a_second_init_names_all_files_and_changes_none(here: Path) -> None:
    init("my-digits")
    (here / "my-digits" / "my_digits.py").write_text("mine")
    result = init("my-digits", "--strategy", "adag")
    assert f"already has {', '.join(FILES)}, and" in result.stderr
    assert (here / "my-digits" / "my_digits.py").read_text() == "mine"
    assert "sync" in (here / "my-digits" / "job.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "why", "better"),
    [
        ("My Digits", "cannot name a job", "my-digits"),
        ("-", "cannot name a job", "my-project"),
        ("a" * 64, "has 64 characters; a job's name has at most 63", "a" * 59),
        ("3d", "`import 3d` is not valid Python", "job-3d"),
        ("class", "`import class` is not valid Python", "class-job"),
        ("json", "would hide another module", "json-job"),
        ("torch", "would hide another module", "torch-job"),
        ("gradstream", "would hide another module", "gradstream-job"),
        ("conftest", "would hide another module", "conftest-job"),
    ],
)
def test_a_name_that_a_job_or_a_module_cannot_have(here: Path, name: str, why: str, better: str) -> None:
    for args, said in ((["x", f"--name={name}"], f"error: --name: '{name}' "), (["--", name], f"error: FOLDER: '{name}' ")):
        result = init(*args)
        assert result.exit_code == 2
        assert said in result.stderr
        assert why in result.stderr
        assert result.stderr.strip().endswith(f"--name {better}")
        assert init("written", "--name", better).exit_code in (0, 1), "the name that it proposes is valid"
    assert {path.name for path in here.iterdir()} == {"written"}


@pytest.mark.parametrize("name", ["workload", "tensor-dataset", "none", "a.b-c_d", "x" * 63])
def test_any_other_name_gives_a_workload_that_is_found(here: Path, name: str) -> None:
    from gradstream.workload_source import check_workload, read_folder

    assert init("folder", "--name", name).exit_code == 0
    spec = jobfile.load(here / "folder" / "job.yaml")
    found = check_workload(read_folder(here / "folder", whole=True), spec)
    assert (spec.name, found.errors, found.warnings) == (name, [], [])


def test_an_unknown_strategy_is_answered_with_a_known_one(here: Path) -> None:
    result = init("my-digits", "--strategy", "adga")
    assert result.exit_code == 2
    assert "--strategy: there is no strategy 'adga'; did you mean 'adag'? There are: single, sync" in result.stderr
    assert list(here.iterdir()) == []


def test_folders_that_are_no_project(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "file").touch()
    assert "FOLDER: file is a file; name a folder" in init("file").stderr
    monkeypatch.setenv("HOME", str(here))
    home = init(".", "--name", "my-digits")
    assert (home.exit_code, list(here.iterdir())) == (2, [here / "file"])
    assert "FOLDER: . is your home folder" in home.stderr
    assert init("file/below").exit_code == 1


def test_without_a_name_it_asks_only_at_a_terminal(here: Path) -> None:
    command = [sys.executable, "-m", "gradstream", "init", "--json"]
    silent = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert silent.returncode == 2
    assert "FOLDER: name a folder for the project, e.g. `gradstream init my-digits`" in silent.stderr
    keyboard, terminal = pty.openpty()
    os.write(keyboard, b"my-digits\n")
    asked = subprocess.run(command, stdin=terminal, capture_output=True, text=True, timeout=60)
    os.close(keyboard)
    os.close(terminal)
    assert json.loads(asked.stdout)["folder"] == "my-digits"
    assert "Folder for the project" in asked.stderr
    assert (here / "my-digits" / "job.yaml").exists()

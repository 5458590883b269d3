"""`up` and `reset` know the folder of a platform by its marker, and touch nothing else."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gradstream import bundle, marker
from gradstream.bundle.roots import non_project
from gradstream.cli.main import app
from gradstream.errors import Conflict
from gradstream.local.folder import RUN_DIRS, DataFolder
from gradstream.local.running import note_running

RUNNER = CliRunner()


def run(*args: str | Path) -> Result:
    return RUNNER.invoke(app, [str(arg) for arg in args])


def a_project(folder: Path) -> dict[str, str]:
    """A user's folder whose names are those of a data folder. Returns what it holds."""
    files = {"logs/important.txt": "1", "files/thesis.txt": "2", "secrets/diary": "3", "agent/007.txt": "4", "lock": "5"}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return files


def what_is_in(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def made_by_an_earlier_version(folder: Path) -> None:
    """A data folder as `up` left it before there were markers."""
    held = DataFolder(folder)
    held.acquire()
    held.release()
    (folder / marker.MARKER).unlink()
    (folder / "postgres").mkdir()
    (folder / "postgres" / "PG_VERSION").write_text("16\n")
    (folder / "secrets" / "node-token").write_text("what all machines registered with then")
    (folder / "client.json").write_text(json.dumps({"url": "http://127.0.0.1:1", "token": "t"}))
    (folder / "logs" / "api.log").write_text("{}")


def test_reset_touches_nothing_in_a_folder_of_somebody_else(tmp_path: Path) -> None:
    before = a_project(tmp_path)
    result = run("reset", "--data-dir", tmp_path, "--yes")
    assert result.exit_code == 0
    assert "nothing of Gradstream" in result.stderr
    assert what_is_in(tmp_path) == before


def test_up_refuses_a_folder_of_somebody_else_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = a_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADSTREAM_DATA_DIR", ".")
    result = run("up")
    assert result.exit_code == 1
    assert f"{tmp_path} is not a Gradstream data folder, and it is not empty (agent, files, lock and 2 more)" in result.stderr
    assert "--data-dir" in result.stderr
    assert what_is_in(tmp_path) == before


def test_reset_deletes_what_the_marker_lists_and_leaves_what_came_later(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.acquire()
    folder.release()
    (folder.path / "notes.txt").write_text("mine")
    (folder.path / "deeper").mkdir()
    result = run("reset", "--data-dir", folder.path, "--yes", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["deleted"] == ["agent", "files", "lock", "logs", "secrets"]
    assert sorted(path.name for path in folder.path.iterdir()) == ["deeper", "notes.txt"]
    with pytest.raises(Conflict, match=r"notes\.txt"):
        DataFolder(folder.path).acquire()


def test_a_link_in_a_data_folder_is_removed_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.acquire()
    folder.release()
    elsewhere = tmp_path / "disk"
    (folder.path / "files").rename(elsewhere)
    (elsewhere / "model").write_text("1")
    (folder.path / "files").symlink_to(elsewhere)
    assert run("reset", "--data-dir", folder.path, "--yes").exit_code == 0
    assert list(folder.path.iterdir()) == []
    assert (elsewhere / "model").read_text() == "1"


def test_a_folder_of_an_earlier_version_is_recognised_and_marked(tmp_path: Path) -> None:
    made_by_an_earlier_version(tmp_path)
    held = DataFolder(tmp_path)
    held.acquire()
    held.release()
    found = marker.read_marker(tmp_path)
    assert found is not None
    assert found.kind == "platform"
    assert set(found.holds) == {"postgres", "files", "agent", "logs", "secrets", "client.json", "lock"}
    assert run("reset", "--data-dir", tmp_path, "--yes").exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_where_an_earlier_version_moved_into_a_project_only_its_own_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    made_by_an_earlier_version(tmp_path / "data")
    mine = {"logs/important.txt": "1", "files/thesis.txt": "2", "train.py": "3"}
    for name, text in mine.items():
        (tmp_path / "data" / name).write_text(text)
    assert run("reset", "--data-dir", tmp_path / "data", "--yes").exit_code == 0
    left = what_is_in(tmp_path / "data")
    assert {name: left.get(name) for name in mine} == mine
    assert not (tmp_path / "data" / "postgres").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"gradstream": "platform"}', '{"gradstream": "home", "format": 1}', "\0"])
def test_a_broken_marker_is_none(text: str, tmp_path: Path) -> None:
    before = {**a_project(tmp_path), marker.MARKER: text}
    (tmp_path / marker.MARKER).write_text(text)
    assert run("reset", "--data-dir", tmp_path, "--yes").exit_code == 0
    assert what_is_in(tmp_path) == before


def test_a_forged_marker_deletes_nothing_but_entries_of_a_platform(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "precious").write_text("1")
    (data / "thesis.txt").write_text("2")
    holds = ["../precious", str(tmp_path / "precious"), "thesis.txt", "..", "logs"]
    (data / marker.MARKER).write_text(json.dumps({"gradstream": "platform", "format": 1, "holds": holds, "id": "forged"}))
    (data / "secrets").mkdir()
    (data / "secrets" / marker.FOLDER_ID).write_text("forged")
    assert run("reset", "--data-dir", data, "--yes").exit_code == 0
    assert what_is_in(tmp_path)["precious"] == "1"
    assert what_is_in(data)["thesis.txt"] == "2"


def without_id(folder: Path) -> None:
    """Make its marker that of a version before there were ids."""
    found = json.loads((folder / marker.MARKER).read_text())
    del found["id"]
    (folder / marker.MARKER).write_text(json.dumps(found))
    (folder / "secrets" / marker.FOLDER_ID).unlink()


@pytest.mark.parametrize("has_id", [True, False])
def test_a_copied_marker_claims_nothing_in_another_folder(has_id: bool, tmp_path: Path) -> None:
    ours, project = DataFolder(tmp_path / "data"), tmp_path / "project"
    ours.acquire()
    ours.release()
    if not has_id:
        without_id(ours.path)
    a_project(project)
    shutil.copy(ours.path / marker.MARKER, project)
    before = what_is_in(project)
    for command in (("reset", "--yes"), ("up",)):
        result = run(*command, "--data-dir", project)
        assert result.exit_code == 1
        assert f"{project / marker.MARKER} is a copy of another folder's marker" in result.stderr
        assert what_is_in(project) == before


def test_no_bundle_mistakes_a_project_with_a_copied_marker_for_a_platform(tmp_path: Path) -> None:
    ours, project = DataFolder(tmp_path / "data"), tmp_path / "project"
    ours.acquire()
    ours.release()
    a_project(project)
    (project / "models").mkdir()
    (project / "models" / "net.py").touch()
    shutil.copy(ours.path / marker.MARKER, project)
    assert not [each.path for each in bundle.pack(project).left_out if each.why == "output"]
    assert non_project(ours.path) == "the data folder of a platform"
    assert non_project(project) is None


@pytest.mark.parametrize("how", [Path.rename, shutil.copytree])
def test_a_data_folder_that_is_moved_or_copied_whole_stays_one(how: Callable[[Path, Path], object], tmp_path: Path) -> None:
    first = DataFolder(tmp_path / "data")
    first.acquire()
    first.release()
    how(first.path, tmp_path / "moved")
    moved = DataFolder(tmp_path / "moved")
    moved.acquire()
    moved.release()
    assert run("reset", "--data-dir", moved.path, "--yes").exit_code == 0
    assert list(moved.path.iterdir()) == []


def test_a_marker_without_an_id_gets_one_and_lists_what_it_listed(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.acquire()
    folder.release()
    without_id(folder.path)
    before = marker.read_marker(folder.path)
    assert before is not None
    folder.acquire()
    folder.release()
    found = marker.read_marker(folder.path)
    assert found is not None
    assert found.id == (folder.path / "secrets" / marker.FOLDER_ID).read_text()
    assert found.holds == before.holds


@pytest.mark.parametrize("left", [["lock"], ["lock", "secrets"], ["lock", "secrets", "secrets/folder-id"], [marker.MARKER]])
def test_a_first_start_that_was_cut_short_is_begun_again(left: list[str], tmp_path: Path) -> None:
    whole, folder = DataFolder(tmp_path / "whole"), DataFolder(tmp_path / "data")
    whole.acquire()
    whole.release()
    folder.path.mkdir()
    for name in left:
        (folder.path / name).mkdir() if name == "secrets" else shutil.copy(whole.path / name, folder.path / name)
    folder.acquire()
    folder.release()
    found = marker.read_marker(folder.path)
    assert found is not None
    assert not marker.is_copied(folder.path, found)


def test_a_folder_of_a_newer_version_is_not_started(tmp_path: Path) -> None:
    (tmp_path / marker.MARKER).write_text(json.dumps({"gradstream": "platform", "format": marker.FORMAT + 1, "holds": []}))
    with pytest.raises(Conflict, match="newer version"):
        DataFolder(tmp_path).acquire()


def test_a_terminal_that_knows_no_platform_is_told_of_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("DATA_DIR", "CONFIG_DIR"):
        monkeypatch.setenv(f"GRADSTREAM_{name}", str(tmp_path / "nowhere"))
    folder, run_dir = DataFolder(tmp_path / "my data"), tmp_path / f"{RUN_DIRS}x"
    run_dir.mkdir()
    folder.acquire()
    folder.record("http://127.0.0.1:1", run_dir)
    note_running(run_dir, folder.path)
    told = run("jobs")
    assert told.exit_code != 0
    assert f"`export GRADSTREAM_DATA_DIR='{folder.path}'` for the one at http://127.0.0.1:1" in told.stderr
    folder.release()
    assert "export" not in run("jobs").stderr

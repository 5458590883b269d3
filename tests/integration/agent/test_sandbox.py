"""Levels of isolation, each entered for real: what a process can do there, and demands that this machine cannot meet."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gradstream.sandbox.probe import Lacking, find_isolation
from gradstream.sandbox.sandbox import Level, Network
from tests.conftest import ROOT

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a process an account of its own")


def look_around(level: Level, data: Path) -> dict[str, str]:
    (data / "code").mkdir()
    (data / "own").mkdir(mode=0o700)
    (data / "code" / "body.py").write_text("the code")
    (data / "secret").write_text("the secret")
    (data / "secret").chmod(0o600)
    command = [sys.executable, "-m", "tests.userland.look_around", level, str(data)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr
    return dict(json.loads(done.stdout))


def offered(folder: Path) -> Level:
    return find_isolation("auto", Network.INTERNET, folder / "processes").level


@as_root
@pytest.mark.parametrize("home", [Path("/tmp"), Path.home()], ids=["tmp", "home"])
def test_a_namespace_shows_code_and_own_folder_below_closed_folders_and_nothing_else(home: Path, tmp_path: Path) -> None:
    if offered(tmp_path) is not Level.NAMESPACE:
        pytest.skip("this machine offers no namespaces")
    with TemporaryDirectory(dir=home) as name:
        data = Path(name)
        assert look_around(Level.NAMESPACE, data) == {
            "own folder": "5",
            "temporary folder": "5",
            "code": "the code",
            "changes code": "OSError",  # read-only file system
            "secret": "FileNotFoundError",
            "processes": "2",
            "capabilities": "0" * 16,
        }
        assert (data / "code" / "body.py").read_text() == "the code"


@as_root
def test_a_namespace_shows_an_installation_below_tmp(tmp_path: Path) -> None:
    """Imports found it without an entry of `sys.path`, as those of an editable installation do."""
    if offered(tmp_path) is not Level.NAMESPACE:
        pytest.skip("this machine offers no namespaces")
    with TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        shutil.copytree(ROOT / "gradstream", Path(name) / "gradstream", ignore=shutil.ignore_patterns("__pycache__"))
        (Path(name) / "place").mkdir()
        probe = (
            f"import runpy, sys; sys.path.insert(0, {name!r}); import gradstream; sys.path.remove({name!r}); "
            f"sys.argv = ['probe', {name + '/place'!r}]; runpy.run_module('gradstream.sandbox.probe', run_name='__main__')"
        )
        done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout)["namespace and account"] == ""


@as_root
def test_an_account_alone_reads_no_secret_and_changes_no_code() -> None:
    with TemporaryDirectory(dir="/tmp") as name:
        data = Path(name)
        data.chmod(0o711)
        found = look_around(Level.USER, data)
    assert (found["own folder"], found["code"], found["capabilities"]) == ("5", "the code", "0" * 16)
    assert (found["changes code"], found["secret"]) == ("PermissionError", "PermissionError")


def test_no_isolation_is_chosen_and_said(tmp_path: Path) -> None:
    found = find_isolation("none", Network.INTERNET, tmp_path)
    assert (found.level, found.account) == (Level.NONE, False)
    assert "--isolation none" in found.sentence


@pytest.mark.parametrize("level", ["none", "user"])
def test_a_network_is_cut_off_by_namespaces_only(level: str) -> None:
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o711)
        with pytest.raises(Lacking, match=r"'namespace'|does not offer"):
            find_isolation(level, Network.PLATFORM, folder / "processes")


def test_a_level_that_is_missing_is_refused_with_the_reason_and_a_remedy(tmp_path: Path) -> None:
    """Accounts cannot pass through a folder that only its owner may enter."""
    tmp_path.chmod(0o700)
    with pytest.raises(Lacking, match=r"does not offer the isolation 'user': .+ --isolation auto takes the best"):
        find_isolation("user", Network.INTERNET, tmp_path / "processes")


@as_root
def test_closed_folders_that_keep_accounts_out_are_named_with_the_command_that_opens_them() -> None:
    with TemporaryDirectory(dir="/tmp") as name:
        inner = Path(name) / "agent"
        inner.mkdir(mode=0o700)
        with pytest.raises(Lacking, match=f"cannot pass through {name}; open the way: chmod 711 {name} {inner}\\. "):
            find_isolation("user", Network.INTERNET, inner / "processes")


@as_root
def test_a_writable_folder_that_accounts_cannot_enter_is_refused_with_a_remedy(tmp_path: Path) -> None:
    if not find_isolation("auto", Network.INTERNET, tmp_path / "processes").account:
        pytest.skip("this machine offers no accounts of their own")
    results = tmp_path / "results"
    results.mkdir(mode=0o700)
    with pytest.raises(Lacking, match=f"--writable {results} lets only its owner in.*chmod 1777 {results}"):
        find_isolation("auto", Network.INTERNET, tmp_path / "processes", [results])
    results.chmod(0o1777)
    assert find_isolation("auto", Network.INTERNET, tmp_path / "processes", [results]).account


@as_root
def test_looking_for_an_isolation_leaves_no_file_where_all_may_write(tmp_path: Path) -> None:
    """The account of the next look could not write to it."""
    places = (Path("/tmp/written"), Path("/var/tmp/written"))
    before = [place.exists() and place.stat().st_mtime_ns for place in places]
    find_isolation("auto", Network.INTERNET, tmp_path / "processes")
    assert [place.exists() and place.stat().st_mtime_ns for place in places] == before

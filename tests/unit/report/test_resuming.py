"""The report's processes: only what is missing is computed, and nothing is lost or half written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.report.__main__ import main
from benchmarks.report.lab import Lab, Run, compute

pytestmark = pytest.mark.long
ARGUMENTS = ["--quick", "--only", "staleness", "--processes", "1", "--out"]


def test_a_second_run_computes_nothing_and_a_lost_result_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, str(tmp_path)]) == 0
    first = (tmp_path / "results/staleness.json").read_text()
    document, figure = (tmp_path / "README.md").read_text(), (tmp_path / "staleness.png").read_bytes()
    assert "[20/20]" in capsys.readouterr().out

    assert main([*ARGUMENTS, str(tmp_path)]) == 0
    assert "[1/" not in capsys.readouterr().out
    assert (tmp_path / "README.md").read_text() == document
    assert (tmp_path / "staleness.png").read_bytes() == figure, "the same numbers give the same bytes"

    stored = json.loads(first)
    gone = next(iter(stored))
    kept = stored.pop(gone)
    (tmp_path / "results/staleness.json").write_text(json.dumps(stored))
    assert main([*ARGUMENTS, str(tmp_path)]) == 0
    assert "[1/1]" in capsys.readouterr().out
    assert json.loads((tmp_path / "results/staleness.json").read_text())[gone]["result"] == kept["result"]


def test_check_tells_a_result_that_does_not_come_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, str(tmp_path)]) == 0
    assert main([*ARGUMENTS, str(tmp_path), "--check"]) == 0
    assert "2 of 2 results are the same again" in capsys.readouterr().out

    path = tmp_path / "results/staleness.json"
    path.write_text(re.sub(r'"mean": [\d.]+', '"mean": 99.0', path.read_text()))
    assert main([*ARGUMENTS, str(tmp_path), "--check"]) == 1
    assert "0 of 2 results are the same again" in capsys.readouterr().out


def test_ctrl_c_keeps_what_is_done_and_leaves_no_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.report", "--quick", "--only", "staleness", "stability", "--out", str(tmp_path)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert running.stdout
    assert running.stdout.readline().startswith("[1/")
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert "the same command goes on from there" in said
    assert json.loads((tmp_path / "results/staleness.json").read_text())
    assert not list(tmp_path.glob("**/.*.new"))
    deadline = time.monotonic() + 60
    while alive(running.pid):
        assert time.monotonic() < deadline, "a process is left"
        time.sleep(0.1)


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_run_is_known_by_its_settings_in_any_order(tmp_path: Path) -> None:
    run, same = Run("edge", {"a": 1, "b": [2]}), Run("edge", {"b": [2], "a": 1})
    assert run == same
    assert run != Run("edge", {"a": 1, "b": [3]})
    lab = Lab(tmp_path)
    lab.keep("one", run, {"x": 0.1}, 2.0)
    assert Lab(tmp_path)[same] == {"x": 0.1}
    assert Lab(tmp_path).seconds == 2.0


def test_results_that_nobody_asks_for_are_forgotten(tmp_path: Path) -> None:
    lab, old, new = Lab(tmp_path), Run("edge", {"a": 1}), Run("edge", {"a": 2})
    lab.keep("one", old, {"x": 1}, 1.0)
    lab.keep("two", new, {"x": 2}, 1.0)
    assert lab.prune([new]) == 1
    assert old not in Lab(tmp_path)
    assert new in Lab(tmp_path)


def test_a_run_that_fails_ends_the_report_with_its_reason() -> None:
    broken = Run("staleness", {"workers": 2, "speeds": "no such speeds", "events": 10})
    with pytest.raises(ValueError, match="names no speeds"):
        list(compute([broken], "", 1))

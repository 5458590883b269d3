"""The watchdog of steps: it ends a worker whose user code does not return, and leaves one alone that waits for others."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from gradstream.process import exits
from gradstream.process.exits import ExitReason
from gradstream.process.watchdogs.step import step_watchdog
from tests.support import eventually

CODE = "import threading\n\ngate = threading.Event()\n\n\ndef loss():\n    gate.wait(60)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a process, with user code that waits in its line 7."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "waits_in_loss.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    yield tmp_path
    sys.modules.pop("waits_in_loss", None)


def test_user_code_that_does_not_return_is_named_and_the_process_ends(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, ended = importlib.import_module("waits_in_loss"), list[int]()

    def end(exit_code: int) -> None:
        ended.append(exit_code)
        code.gate.set()

    with step_watchdog(folder, 0.3, lambda: 5, end):
        code.loss()
    said = exits.read(folder, ended[0])
    assert (said.reason, said.code) == (ExitReason.HUNG, 77)
    where = "waits_in_loss.py:7 (wait)"
    assert said.message == f"user code ran for 0.3 s at {where} without a step: the limit of roles.worker.step_timeout"
    assert 'File "waits_in_loss.py", line 7, in loss' in capfd.readouterr().err


@pytest.mark.more
def test_steps_and_waits_for_others_are_no_hang(folder: Path) -> None:
    """User code that makes steps, and then a wait without user code, each of three times the timeout."""
    code, ended, steps = importlib.import_module("waits_in_loss"), list[int](), count()
    threading.Timer(0.9, code.gate.set).start()
    with step_watchdog(folder, 0.3, lambda: next(steps), ended.append):
        code.loss()
    with step_watchdog(folder, 0.3, lambda: 5, ended.append):
        threading.Event().wait(0.9)
    assert not ended


def test_without_a_timeout_nothing_looks(folder: Path) -> None:
    before = threading.active_count()
    with step_watchdog(folder, None, lambda: 5):
        assert threading.active_count() == before


def test_user_code_that_lets_no_other_thread_run_is_ended_too(folder: Path) -> None:
    """The regular expression takes years, and the interpreter's lock for all of them."""
    (folder / "code" / "stuck.py").write_text("import re\n\n\ndef loss():\n    re.match(r'(a+)+$', 'a' * 60 + 'b')\n")
    program = (
        "import sys; from pathlib import Path; from gradstream.process.watchdogs.step import step_watchdog; import stuck\n"
        "with step_watchdog(Path(sys.argv[1]), 1.0, lambda: 5):\n    stuck.loss()\n"
    )
    path = f"{folder / 'code'}:{Path.cwd()}"
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], env={"PYTHONPATH": path}, stderr=subprocess.PIPE, text=True
    )
    try:
        eventually(lambda: process.poll() is not None or None, "the end of the process", timeout=60)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "stuck.py" in process.communicate()[1]
    assert exits.read(folder, 1).reason is ExitReason.INTERNAL, "it could leave no reason"

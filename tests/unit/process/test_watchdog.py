"""The watchdog of a start: it names the phase and the line of user code that does not return, and kills nothing."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
import traceback
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradstream.process.watchdogs.start import (
    LIMIT,
    LIMIT_VARIABLE,
    Hang,
    StartWatchdog,
    hang_sentences,
    limit_from_environment,
    read_hang,
)
from tests.support import eventually

CODE = "import threading\n\ngate = threading.Event()\ngate.wait(60)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of a process, with user code that waits in its line 4."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "waits_at_import.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    yield tmp_path
    sys.modules.pop("waits_at_import", None)


class Onlooker(threading.Thread):
    """Waits for a report, keeps it, and lets the user code go on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self.seen: Hang | None = None
        self.start()

    def run(self) -> None:
        try:
            self.seen = eventually(lambda: read_hang(self._folder), "a report")
        finally:
            sys.modules["waits_at_import"].gate.set()


def test_code_that_does_not_return_is_reported_with_its_line_until_it_does(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    onlooker = Onlooker(folder)
    with StartWatchdog(folder, limit=0.2) as watchdog:
        with watchdog.watch_phase("import w"):
            importlib.import_module("waits_at_import")
        assert read_hang(folder) is None, "the phase has ended"
    onlooker.join()
    assert onlooker.seen is not None
    assert (onlooker.seen.phase, onlooker.seen.line, onlooker.seen.call) == ("import w", "waits_at_import.py:4", "wait")
    assert onlooker.seen.seconds >= 0.2
    assert 'File "waits_at_import.py", line 4' in capfd.readouterr().err


class _Counting(StartWatchdog):
    looks = 0

    def _find_frames(self) -> list[traceback.FrameSummary]:
        self.looks += 1
        return super()._find_frames()


def test_waiting_for_others_is_no_hang_and_user_code_is(folder: Path) -> None:
    over = threading.Event()
    with _Counting(folder, limit=0.1) as watchdog:
        watchdog.watch_until("the first mini-batch", over.is_set)
        eventually(lambda: watchdog.looks > 30, "looks for three times the limit")
        assert read_hang(folder) is None
        onlooker = Onlooker(folder)
        importlib.import_module("waits_at_import")
        onlooker.join()
        assert onlooker.seen is not None
        assert onlooker.seen.line == "waits_at_import.py:4"
        over.set()
        eventually(lambda: read_hang(folder) is None, "the end of the phase")


class _Value:
    """Something that a function holds."""


def test_a_look_holds_nothing_of_the_functions_that_it_saw(folder: Path) -> None:
    """Else garbage would keep their values until it is collected, and Python 3.11 crashes when some of them are buffers."""

    def hold_value_during_a_look(watchdog: _Counting) -> weakref.ref[_Value]:
        value, before = _Value(), watchdog.looks
        eventually(lambda: watchdog.looks > before + 1, "a look")
        return weakref.ref(value)

    gc.collect()
    gc.disable()
    try:
        with _Counting(folder, limit=0.1) as watchdog:
            watchdog.watch_until("the first mini-batch", lambda: False)
            held = hold_value_during_a_look(watchdog)
            eventually(lambda: held() is None, "the value is gone, once a look that was under way has ended")
    finally:
        gc.enable()


def test_processes_at_one_line_are_one_sentence() -> None:
    here, there = Hang(phase="dataset()", line="w.py:12", call="urlopen", seconds=30.2), Hang(phase="import w", seconds=31)
    assert hang_sentences({"worker-1": here, "worker-0": here, "evaluator": there}) == [
        "evaluator has been in import w for more than 31 s. Long downloads are fine; if it hangs, stop the job. The log shows the "
        "stack.",
        "worker-0 and worker-1 have been in dataset() for more than 30 s, at w.py:12 (urlopen). Long downloads are fine; if it "
        "hangs, stop the job. The log shows the stack.",
    ]


@pytest.mark.parametrize("text", ["", "{", '{"phase": "a\\u0000b", "seconds": 1}', '{"phase": "p", "seconds": "NaN"}'])
def test_a_file_that_user_code_has_written_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "hang.json").write_text(text)
    assert read_hang(tmp_path) is None


@pytest.mark.parametrize(("given", "limit"), [("600", 600.0), ("0", LIMIT), ("soon", LIMIT)])
def test_a_job_may_set_another_limit(given: str, limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, given)
    assert limit_from_environment() == limit

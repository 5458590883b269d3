from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from gradstream.errors import Unavailable
from gradstream.local import watch as module
from gradstream.local.servers import child as child_module
from gradstream.local.servers.child import Child
from gradstream.local.watch import PAUSES, Watch
from tests.support import eventually


def _child(tmp_path: Path, code: str) -> Child:
    return Child("the program", [sys.executable, "-c", code], log=tmp_path / "log")


def test_starts_again_what_was_killed(tmp_path: Path) -> None:
    said: list[str] = []
    child, watch = _child(tmp_path, "import time; time.sleep(600)"), Watch(said.append)
    child.start()
    watch.add(child)
    watch.look()
    first = child.pid
    child.stop()

    def started_again() -> bool:
        watch.look()
        return child.pid != first

    eventually(started_again, "another start")
    assert child.poll() is None
    assert said == [f"the program ended by itself (exit code -{int(signal.SIGTERM)}); starting it again"]
    child.stop()


def test_gives_up_on_what_keeps_ending_and_quotes_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.0,) * len(PAUSES))
    said: list[str] = []
    child, watch = _child(tmp_path, "raise SystemExit('my last words')"), Watch(said.append)
    child.start()
    watch.add(child)

    def gave_up() -> str:
        try:
            watch.look()
        except Unavailable as error:
            return error.message
        return ""

    told = eventually(gave_up, "the end of its timeout")
    assert "6 times within 60 s" in told
    assert "my last words" in told
    assert len(said) == len(PAUSES)


def test_logs_stay_small_while_their_program_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "KEEP_LOG", 10_000)
    monkeypatch.setattr(module, "ROTATE_EVERY", 0.0)
    child, watch = _child(tmp_path, "for n in range(10**9):\n print(f'{n:0999}', flush=True)"), Watch(lambda _: None)
    child.start()
    watch.add(child)
    older, numbers = tmp_path / "log.old.log", set[str]()

    def cut_again() -> bool:
        watch.look()
        if older.exists():
            numbers.add(older.read_text()[-1000:])
        return len(numbers) > 2

    eventually(cut_again, "logs that were cut short several times")
    child.stop()
    child.rotate_log()
    assert older.stat().st_size <= 10_000
    assert (tmp_path / "log").stat().st_size <= 10_000
    assert "\x00" not in (tmp_path / "log").read_text(), "the program goes on at the beginning of the file"


def test_says_what_it_waited_for(tmp_path: Path) -> None:
    child = _child(tmp_path, "print('working on it', flush=True); import time; time.sleep(600)")
    child.start()
    try:
        eventually(lambda: "working" in (tmp_path / "log").read_text(), "its first words")
        with pytest.raises(Unavailable, match=r"the program: waited 0.1 s for it sang. The end of .*\n  working on it"):
            child.wait_until(lambda: False, "it sang", 0.1)
    finally:
        child.stop()

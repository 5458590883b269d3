"""Lines of several processes in one log, from Python, from C, and from a child that crashes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gradstream.process.labelled_output import LabelledOutput
from tests.support import eventually

TIMEOUT = 20.0


def passed_on(capfd: pytest.CaptureFixture[str], *children: str) -> tuple[str, str]:
    """Return what came of the output and the error of such Python programs, which are children number 1, 2, ..."""
    output, running = LabelledOutput(), []
    for number, program in enumerate(children, 1):
        ends = output.add(f"[peer {number}] ")
        running.append(subprocess.Popen([sys.executable, "-c", program], stdout=ends.out, stderr=ends.err))
        output.close_ends(ends)
    output.start()
    output.drain(TIMEOUT)
    for process in running:
        process.wait(TIMEOUT)
    found = capfd.readouterr()
    return found.out, found.err


@pytest.mark.parametrize(
    ("written", "log"),
    [
        (["one\n", "two\n"], "[peer 1] one\n[peer 1] two\n"),
        (["a", "b", "\n", "\n", "c"], "[peer 1] ab\n[peer 1] \n[peer 1] c"),
        (["two\nlines", " of text\nand more\n", ""], "[peer 1] two\n[peer 1] lines of text\n[peer 1] and more\n"),
        (["10 %\r", "20 %\r", "\n"], "[peer 1] 10 %\r[peer 1] 20 %\r[peer 1] \n"),
    ],
)
def test_each_line_begins_with_the_label(written: list[str], log: str, capfd: pytest.CaptureFixture[str]) -> None:
    program = f"import os, time\nfor text in {written!r}: os.write(1, text.encode()); time.sleep(0.01)"
    assert passed_on(capfd, program) == (log, "")


def test_what_c_writes_and_what_a_crash_says_has_it_too(capfd: pytest.CaptureFixture[str]) -> None:
    out, err = passed_on(
        capfd,
        "import ctypes; libc = ctypes.CDLL(None); libc.puts(b'from C'); libc.fflush(None)",
        "import faulthandler, os; faulthandler.enable(); os.system('echo from a child of it'); os.abort()",
    )
    assert sorted(out.splitlines()) == ["[peer 1] from C", "[peer 2] from a child of it"]
    assert err.startswith("[peer 2] Fatal Python error: Aborted\n[peer 2] ")


def test_long_lines_are_passed_on_in_pieces_and_lose_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    out, _ = passed_on(capfd, "print('x' * 10**6); print('end')")
    assert out == f"[peer 1] {'x' * 10**6}\n[peer 1] end\n"


def test_a_child_that_is_forked_writes_there(capfd: pytest.CaptureFixture[str]) -> None:
    output = LabelledOutput()
    ends = output.add("[peer 1] ")
    pid = os.fork()
    if pid == 0:
        output.begin_child(ends)
        os.write(2, b"forked\n")
        os._exit(0)
    output.close_ends(ends)
    output.start()
    output.drain(TIMEOUT)
    os.waitpid(pid, 0)
    assert capfd.readouterr().err == "[peer 1] forked\n"


def test_a_grandchild_that_goes_on_holds_up_nothing() -> None:
    output = LabelledOutput()
    ends = output.add("[peer 1] ")
    process = subprocess.Popen(["sleep", "60"], stdout=ends.out, stderr=ends.err)
    output.close_ends(ends)
    output.start()
    output.drain(0.1)
    process.kill()
    process.wait(TIMEOUT)
    eventually(lambda: not output._thread.is_alive() or None, "the end of the thread")

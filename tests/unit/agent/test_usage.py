"""What processes take of this machine, measured on real ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.orders import make_order
from tests.support import eventually
from worker_agent.machine import usage
from worker_agent.machine.usage import Measuring, UsageMeter
from worker_agent.output.logs import Tail
from worker_agent.processes import AgentProcess

CHILD = "x = bytearray(80_000_000)\nwhile True: pass"
BUSY = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"

SHARING = """
import mmap, os, sys, time
memory = mmap.mmap(-1, 80_000_000)
ready, written = os.pipe()
for _ in range(2):
    if os.fork() == 0:
        sum(memory[::4096])
        os.write(written, b"x")
        time.sleep(60)
memory[:] = bytes([1]) * 80_000_000
for _ in range(2):
    os.read(ready, 1)
os.write(1, b"done")
time.sleep(60)
"""
"""A process and two children with the same 80 MB, of which all have touched each page."""


FORKED = """
import os, time
memory = bytearray(b"x") * 80_000_000
for _ in range(2):
    if os.fork() == 0:
        time.sleep(60)
os.write(1, b"done")
time.sleep(60)
"""
"""A process and two children that were forked when it had 80 MB."""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[AgentProcess]:
    """A process whose child computes and holds 80 MB."""
    with subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True) as popen:
        yield AgentProcess(make_order(), tmp_path, Tail(tmp_path / "log"), state="running", pid=popen.pid)
        os.killpg(popen.pid, signal.SIGKILL)


def test_children_count_and_processor_time_is_a_mean_between_two_looks(busy: AgentProcess) -> None:
    meter = UsageMeter()
    first = meter.read([busy])[busy.order.id]
    assert first.cpu is None, "nothing to compare with yet"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.2)
        found = meter.read([busy])[busy.order.id]
        if found.memory > 80_000_000 and found.cpu:
            break
    assert found.memory > 80_000_000
    assert found.cpu is not None
    assert 0 < found.cpu < 3
    assert (found.gpu, found.gpu_memory) == (None, None)


@pytest.mark.parametrize("program", [SHARING, FORKED], ids=["mapped", "forked"])
def test_memory_that_processes_share_counts_once(program: str, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True) as popen:
        assert popen.stdout is not None
        popen.stdout.read(4)
        try:
            sharing = AgentProcess(make_order(), tmp_path, Tail(tmp_path / "log"), state="running", pid=popen.pid)
            taken = UsageMeter().read([sharing])[sharing.order.id].memory
        finally:
            os.killpg(popen.pid, signal.SIGKILL)
    assert 80_000_000 < taken < 150_000_000, "three processes have the same 80 MB"


def test_what_has_ended_or_not_begun_is_not_measured(tmp_path: Path) -> None:
    ended = AgentProcess(make_order(), tmp_path, Tail(tmp_path / "log"), state="exited", pid=1)
    waiting = AgentProcess(make_order(), tmp_path, Tail(tmp_path / "log"))
    gone = AgentProcess(make_order(), tmp_path, Tail(tmp_path / "log"), state="running", pid=2**22 + 1)
    assert UsageMeter().read([ended, waiting, gone]) == {}


def test_one_that_has_just_ended_takes_nothing_and_is_not_measured(tmp_path: Path) -> None:
    """Until its parent asks how it ended, the system still lists it, with no memory at all."""
    with subprocess.Popen([sys.executable, "-c", ""]) as popen:
        os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
        assert (
            UsageMeter().read([AgentProcess(make_order(), tmp_path, Tail(tmp_path / "log"), state="running", pid=popen.pid)]) == {}
        )


def test_a_measurement_is_given_once(busy: AgentProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "EVERY", 0.01)
    measuring = Measuring()
    assert measuring.take([busy]) == {}, "nobody has looked yet"
    measuring.start()
    first = eventually(lambda: measuring.take([busy]), "a look")[busy.order.id]
    second = eventually(lambda: measuring.take([busy]), "the next one")[busy.order.id]
    measuring.close()
    measuring.join(60)
    assert second.at > first.at

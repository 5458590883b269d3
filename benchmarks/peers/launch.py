"""One launch of a system: started, measured, ended, with nothing left of it."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.peers import counter, environments, meter
from benchmarks.peers.meter import Measured, Tree
from benchmarks.peers.system import Told
from benchmarks.peers.systems import System

_ENDS_WITHIN = 40.0
_PR_SET_CHILD_SUBREAPER = 36
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_libc = ctypes.CDLL(None)


class Absent(Exception):
    """The system cannot run here; why."""


class Failed(Exception):
    """It ended by itself, or did not begin in time; with the end of its log."""


def run(
    system: System,
    item: str,
    data: Path,
    *,
    settle: float,
    window: float,
    timeout: float = 120.0,
    seed: int = 1,
    device: str = "cpu",
) -> Measured:
    """`timeout`: seconds that it may take until all workers train. Raises: Absent, Failed."""
    python = environments.python(system.environment)
    if python is None:
        raise Absent(f"its environment '{system.environment}' is not made; `--install` makes it")
    folder = Path(tempfile.mkdtemp(prefix="gs-peer-", dir=_short()))
    told = Told(item, str(folder), str(data), seed=seed, device=device, options=dict(system.options))
    environment = os.environ | _ONE_THREAD | {"PYTHONPATH": str(environments.ROOT), "TMPDIR": str(folder)}
    try:
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [str(python), "-m", "benchmarks.peers.start", system.file, told.json()],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=environments.ROOT,
                start_new_session=True,
                preexec_fn=_keep_orphans,
                env=environment,
            )
        tree = Tree(process.pid)
        try:
            measured = _measure(process, tree, folder, system.counters, settle, window, timeout)
            _end(process)
        finally:
            left = _clear(process, tree)
        if left:
            raise Failed(f"processes {left} could not be ended")
        measured.more = _report(folder)
        return measured
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(
    process: subprocess.Popen[bytes], tree: Tree, folder: Path, counters: int, settle: float, window: float, timeout: float
) -> Measured:
    began = time.monotonic()

    def wait(seconds: float) -> None:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return
        if why := _report(folder).get("absent"):
            raise Absent(str(why))
        raise Failed(f"it ended with exit code {process.returncode} before it was measured\n{_last_words(folder)}")

    def counts() -> tuple[counter.Count, ...]:
        return tuple(counter.read(folder))

    for turn in range(1_000_000):
        if len(counter.read(folder)) == counters:
            break
        if time.monotonic() > began + timeout:
            raise Failed(f"not all of its workers trained within {timeout:g} s\n{_last_words(folder)}")
        if turn % 10 == 0:
            tree.look(pss=turn % 50 == 0)
        wait(0.05)
    measured = meter.window(tree, counts, settle, window, wait)
    measured.start_seconds = counter.joined(counts()).began - began
    if not measured.steps:
        raise Failed(f"it made no step in {window:g} s\n{_last_words(folder)}")
    return measured


def _end(process: subprocess.Popen[bytes]) -> None:
    """As it is agreed: its standard input ends. What it says of itself it says then."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(_ENDS_WITHIN)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"it went on for {_ENDS_WITHIN:g} s after it was told to end") from error


def _clear(process: subprocess.Popen[bytes], tree: Tree) -> list[int]:
    """Whatever happened, nothing of it goes on. An interrupt waits until this is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        if process.stdin and not process.stdin.closed:
            process.stdin.close()
            try:
                process.wait(5.0)  # so that it can remove what it has made
            except subprocess.TimeoutExpired:
                pass
        left = tree.kill()
        process.wait(10.0)
        return left
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _keep_orphans() -> None:
    """In the new process, before it becomes the system: what its children leave behind stays in its tree."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _report(folder: Path) -> dict[str, Any]:
    file = folder / "report.json"
    return json.loads(file.read_text()) if file.exists() else {}


def _last_words(folder: Path, lines: int = 15) -> str:
    return "\n".join((folder / "log").read_text(errors="replace").splitlines()[-lines:])


def _short() -> str | None:
    """Sockets in a folder need a short path, of at most 107 bytes with their name."""
    return None if len(tempfile.gettempdir()) <= 30 else "/tmp"

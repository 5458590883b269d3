"""A watchdog for training: it ends a worker whose user code does not return, so that the job can go on without it.

Only time in user code counts. A worker that waits for servers, for the gate or for data makes no step either, and does not hang.
In a group, each process watches itself; one that waits for the others does not hang.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gradstream.process import exits
from gradstream.process.exits import EXIT_CODES, Exit, ExitReason
from gradstream.process.watchdogs.stacks import StackDump, describe, find_running, format_frames

_LOOKS = 10
"""Per timeout, and at least once a second."""


@contextlib.contextmanager
def step_watchdog(
    folder: Path,
    timeout: float | None,
    steps: Callable[[], int],
    end: Callable[[int], object] = os._exit,
    *,
    waits: Callable[[], bool] = lambda: False,
    dump: StackDump | None = None,
) -> Iterator[None]:
    """Inside, end this process with the reason `hung` after `timeout` seconds of user code without another step; None: never.
    `folder`: of the process. `steps`: how many mini-batches have been trained. `end`: ends the process with an exit code. `waits`:
    whether this process waits for another one, also if user code has led there. `dump`: gets the stacks if user code lets no other
    thread run; None: standard error does."""
    if timeout is None:
        yield
        return
    watchdog = _StepWatchdog(folder, timeout, steps, end, waits, dump)
    watchdog.arm()
    watchdog.start()
    try:
        yield
    finally:
        watchdog.over.set()
        watchdog.join()
        faulthandler.cancel_dump_traceback_later()


class _StepWatchdog(threading.Thread):
    def __init__(
        self,
        folder: Path,
        timeout: float,
        steps: Callable[[], int],
        end: Callable[[int], object],
        waits: Callable[[], bool],
        dump: StackDump | None,
    ) -> None:
        super().__init__(name="step watchdog", daemon=True)
        self._folder, self._timeout, self._steps, self._end, self._waits = folder, timeout, steps, end, waits
        self._main, self._dump = threading.get_ident(), dump
        self.over = threading.Event()

    def arm(self) -> None:
        """End the process some time after the timeout unless this is called again: user code may let no other thread run."""
        faulthandler.dump_traceback_later(2 * self._timeout + 1, exit=True, file=self._dump.file if self._dump else sys.stderr)

    def run(self) -> None:
        steps, since = self._steps(), time.monotonic()
        while not self.over.wait(min(1.0, self._timeout / _LOOKS)):
            self.arm()
            frames = find_running(self._folder, self._main)
            now = time.monotonic()
            if not frames or self._waits() or self._steps() != steps:
                steps, since = self._steps(), now
            elif now - since >= self._timeout:
                sys.stderr.write(f"No step for {now - since:.0f} s. User code is here:\n{format_frames(frames, self._folder)}")
                sys.stderr.flush()
                said = describe_hang(frames, self._folder, self._timeout)
                code = EXIT_CODES[ExitReason.HUNG]
                exits.write(self._folder, Exit(reason=ExitReason.HUNG, message=said, code=code))
                self._end(code)
                return


def describe_hang(frames: Sequence[traceback.FrameSummary], folder: Path, timeout: float, more: str = "") -> str:
    """Return the sentence about user code that is at these frames. `folder`: of the process. `more`: that is known of it."""
    line, call = describe(frames, folder)
    where = (f" at {line}" if line else "") + (f" ({call})" if call else "")
    return f"user code ran for {timeout:g} s{where} without a step{more}: the limit of roles.worker.step_timeout"

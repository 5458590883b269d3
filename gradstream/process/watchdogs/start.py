"""A watchdog for the start of a job process: user code that does not return is reported with the line where it is.

A thread looks at the stacks now and then. User code that has been running for `limit` seconds in one phase is written to the
process's log and to the file `hang.json` in its folder, which the agent (and `gradstream train`) reads. The file is removed when
the phase ends. Nothing is killed: a long download is no mistake.
"""

from __future__ import annotations

import contextlib
import faulthandler
import math
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from gradstream.process.small_files import read_small_file
from gradstream.process.watchdogs.stacks import describe, find_running, format_frames

LIMIT = 30.0
"""Seconds that user code may take for one phase before it is reported."""
LIMIT_VARIABLE = "START_WARNING_SECONDS"
"""In `env` of a job file: another limit."""
_FILE = "hang.json"
_LOOKS = 10
"""Per limit."""
_LONGEST_FILE = 10_000
"""Bytes; user code could write there, too."""

Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
"""Postgres stores no NUL."""


class Hang(BaseModel, frozen=True):
    """A phase of a process's start that takes long."""

    phase: Text = Field(max_length=200)
    """`dataset()`."""
    line: Text | None = Field(None, max_length=1000)
    """The user's line that is running: `w.py:12`. None: the code lies outside of the job's folder."""
    call: Text | None = Field(None, max_length=200)
    """The function that this line has called, if it is a Python function."""
    seconds: float = Field(ge=0, allow_inf_nan=False)
    """How long it had taken when it was reported."""

    @property
    def place(self) -> tuple[str, str | None]:
        return self.phase, self.line


def hang_sentences(hangs: Mapping[str, Hang], *, ended: bool = False) -> list[str]:
    """Return one sentence for each place where processes hang. `hangs`: by label. `ended`: the job is over."""
    return [_sentence(labels, hangs[labels[0]], ended=ended) for labels in group_by_place(hangs)]


def ended_sentence(hangs: Mapping[str, Hang]) -> str:
    """Return the sentence that says the processes have left the one place where they were."""
    return f"{', '.join(hangs)}: {next(iter(hangs.values())).phase} has ended; the start continues."


def group_by_place(hangs: Mapping[str, Hang]) -> list[list[str]]:
    """The labels of processes that are at the same place, together."""
    found: dict[tuple[str, str | None], list[str]] = {}
    for label in sorted(hangs):
        found.setdefault(hangs[label].place, []).append(label)
    return list(found.values())


def _sentence(labels: Sequence[str], hang: Hang, *, ended: bool) -> str:
    who = labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"
    where = (f", at {hang.line}" if hang.line else "") + (f" ({hang.call})" if hang.call else "")
    time = f"for more than {math.floor(hang.seconds)} s{where}"
    if ended:
        return (
            f"{who} {'was' if len(labels) == 1 else 'were'} in {hang.phase} {time}, until the job ended. The log shows the stack."
        )
    has = "has" if len(labels) == 1 else "have"
    return f"{who} {has} been in {hang.phase} {time}. Long downloads are fine; if it hangs, stop the job. The log shows the stack."


def read_hang(folder: Path) -> Hang | None:
    """Return the report of this folder's process about a phase that has not ended; None: there is none."""
    try:
        return Hang.model_validate_json(read_small_file(folder / _FILE, _LONGEST_FILE))
    except (OSError, ValidationError):
        return None


def limit_from_environment() -> float:
    """The job's own limit, or LIMIT."""
    with contextlib.suppress(ValueError):
        given = float(os.environ.get(LIMIT_VARIABLE, LIMIT))
        return given if given > 0 else LIMIT
    return LIMIT


class StartWatchdog:
    """Use as a context manager. `watch_phase` names what runs now; `watch_until` ends by itself."""

    def __init__(self, folder: Path, *, limit: float | None = None) -> None:
        """`folder`: of the process. `limit`: seconds of one phase."""
        self._folder, self._limit = folder, limit or limit_from_environment()
        self._main = threading.get_ident()
        self._changed = threading.Condition()
        self._phase: str | None = None
        self._is_over: Callable[[], bool] | None = None
        self._since = 0.0
        self._told = self._closed = False
        self._thread = threading.Thread(target=self._run, name="start watchdog", daemon=True)

    def __enter__(self) -> StartWatchdog:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._begin(None, None)
        with self._changed:
            self._closed = True
            self._changed.notify()

    @contextlib.contextmanager
    def watch_phase(self, phase: str) -> Iterator[None]:
        """User code runs inside. If it lets no other thread run, the stacks go to the log after twice the limit."""
        self._begin(phase, None)
        faulthandler.dump_traceback_later(2 * self._limit, file=2)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            self._begin(None, None)

    def watch_until(self, phase: str, is_over: Callable[[], bool]) -> None:
        """From now on user code runs now and then. Only time in it counts, and the phase ends when `is_over` says so."""
        self._begin(phase, is_over)

    def _begin(self, phase: str | None, is_over: Callable[[], bool] | None) -> None:
        with self._changed:
            self._phase, self._is_over, self._since = phase, is_over, time.monotonic()
            if self._told:
                (self._folder / _FILE).unlink(missing_ok=True)
            self._told = False
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._closed:
                self._changed.wait(None if self._phase is None else self._limit / _LOOKS)
                if self._phase is not None:
                    with contextlib.suppress(OSError):  # the disk may be full
                        self._look(self._phase)

    def _look(self, phase: str) -> None:
        if self._is_over and self._is_over():
            return self._begin(None, None)
        if self._told:
            return
        frames = self._find_frames()
        if self._is_over and not frames:  # it waits for the center
            self._since = time.monotonic()
        seconds = time.monotonic() - self._since
        if seconds < self._limit:
            return
        line, call = describe(frames, self._folder)
        hang = Hang(phase=phase[:200], line=line, call=call, seconds=seconds)
        temporary = self._folder / f"{_FILE}.tmp"
        temporary.write_text(hang.model_dump_json())
        os.replace(temporary, self._folder / _FILE)
        self._told = True
        faulthandler.cancel_dump_traceback_later()
        sys.stderr.write(f"{phase} has taken {seconds:.0f} s so far. It is here:\n{format_frames(frames, self._folder)}")

    def _find_frames(self) -> list[traceback.FrameSummary]:
        return find_running(self._folder, self._main)

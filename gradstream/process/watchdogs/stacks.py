"""The lines of user code that run now, in any thread of a process."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path

from gradstream.process.blame import find_user_frames

_STACK = re.compile(r"^(?:Current thread|Thread) .*:$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)
"""As `faulthandler` writes them, the innermost frame first."""
_LONGEST_DUMP = 2**20
"""Bytes."""


def find_running(folder: Path, main: int) -> list[traceback.FrameSummary]:
    """Return the frames of the first other thread that runs user code, the main one first; from the user's first line on.
    `folder`: of the process. `main`: the identifier of the thread that is looked at first."""
    stacks = sys._current_frames()
    del stacks[threading.get_ident()]  # this frame: else it would hold itself, and the locals of every thread with it
    order = sorted(stacks, key=lambda id: id != main)
    found = (find_user_frames(traceback.extract_stack(stacks[id]), folder) for id in order)
    return next((frames for frames in found if frames), [])


class StackDump:
    """A file for the stacks of a child that `faulthandler` ends, since its user code lets no other thread run. Made before the
    child is forked."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of the process. Raises: OSError."""
        self._folder, self.file = folder, tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - until `close`

    def close(self) -> None:
        self.file.close()

    def read(self) -> str:
        """Return what the child has left; empty: nothing."""
        return os.pread(self.file.fileno(), _LONGEST_DUMP, 0).decode(errors="replace")

    def find_running(self) -> list[traceback.FrameSummary]:
        """As the function of this name, of the child."""
        for stack in reversed(_STACK.split(self.read())[1:]):  # the main thread comes last
            frames = [traceback.FrameSummary(file, int(line), name) for file, line, name in _FRAME.findall(stack)]
            if found := find_user_frames(frames[::-1], self._folder):
                return found
        return []


def describe(frames: Sequence[traceback.FrameSummary], folder: Path) -> tuple[str | None, str | None]:
    """Return the last line of user code, as `w.py:12`, and the function that it has called."""
    code = f"{folder / 'code'}/"
    last = max((number for number, frame in enumerate(frames) if frame.filename.startswith(code)), default=None)
    if last is None:
        return None, None
    called = frames[last + 1].name[:200] if last + 1 < len(frames) else None
    return f"{frames[last].filename.removeprefix(code)}:{frames[last].lineno}"[:1000], called


def format_frames(frames: Sequence[traceback.FrameSummary], folder: Path) -> str:
    """Return the frames as a traceback has them, with files as in the job's folder."""
    return "".join(traceback.format_list(list(frames))).replace(f"{folder / 'code'}/", "")

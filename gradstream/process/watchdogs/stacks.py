"""The lines of user code that run now, in any thread of this process."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path

from gradstream.process.blame import find_user_frames


def find_running(folder: Path, main: int) -> list[traceback.FrameSummary]:
    """Return the frames of the first other thread that runs user code, the main one first; from the user's first line on.
    `folder`: of the process. `main`: the identifier of the thread that is looked at first."""
    stacks = sys._current_frames()
    del stacks[threading.get_ident()]  # this frame: else it would hold itself, and the locals of every thread with it
    order = sorted(stacks, key=lambda id: id != main)
    found = (find_user_frames(traceback.extract_stack(stacks[id]), folder) for id in order)
    return next((frames for frames in found if frames), [])


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

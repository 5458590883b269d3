"""The text about an error of user code, in the log of a process and at its end: the user's lines, without the platform's.

Frames of the platform, and of importlib, that lead to user code are left out; what a library did below it stays. Files of the
job's code are named as in its folder (`w.py`)."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

from gradstream.errors import GradstreamError


def format_error(error: BaseException, folder: Path) -> str:
    """The traceback of what user code has raised, from its own first line on. Without any such line, and where the platform
    explains the mistake itself, only what was raised. `folder`: of the process."""
    code = f"{folder / 'code'}/"
    raised = "".join(traceback.format_exception_only(error)).replace(code, "")
    frames = [] if isinstance(error, GradstreamError) else find_user_frames(traceback.extract_tb(error.__traceback__), folder)
    if not frames:
        return raised
    for frame in frames:
        frame.filename = frame.filename.removeprefix(code)
    return "".join(["Traceback (most recent call last):\n", *traceback.format_list(frames), raised])


def shorten_warnings(folder: Path) -> None:
    """Name the files of the job's code in Python's warnings as in its folder. `folder`: of this process."""
    code, long = f"{folder / 'code'}/", warnings.formatwarning

    def short(message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None) -> str:
        return long(message, category, filename, lineno, line).replace(code, "")

    warnings.formatwarning = short


def find_line(error: BaseException, folder: Path) -> str | None:
    """The last line of user code on the way to the error, as `w.py:12`; None: there is none."""
    code = f"{folder / 'code'}/"
    theirs = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(code)]
    return f"{theirs[-1].filename.removeprefix(code)}:{theirs[-1].lineno}" if theirs else None


def find_user_frames(frames: Sequence[traceback.FrameSummary], folder: Path) -> list[traceback.FrameSummary]:
    """The frames from the first line of user code on; none: there is no such line. `folder`: of the process."""
    code = f"{folder / 'code'}/"
    first = next((number for number, frame in enumerate(frames) if frame.filename.startswith(code)), len(frames))
    return list(frames[first:])

"""The names under which `ps` and `top` show a process."""

from __future__ import annotations

import ctypes
import sys

import setproctitle

_PR_SET_NAME = 15


def name_process(label: str, belongs_to: str) -> None:
    """Name this process by its label (`worker-0`, or `worker-0/1` for peer 1 of a group) and the job that it belongs to."""
    setproctitle.setproctitle(f"gradstream {label} of {belongs_to}")
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, f"gs {label}".encode()[:15])

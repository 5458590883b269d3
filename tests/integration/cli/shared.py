"""What the tests of the clients submit, and how they run the command."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil

LINE = Path(__file__).parents[3] / "examples" / "linear_regression"
FOREVER = "stop={epochs: 1000000}"
COMMAND = (sys.executable, "-c", "from gradstream.cli.main import app; app()")

Gradstream = Callable[..., subprocess.CompletedProcess[str]]
"""Runs the command with these arguments, and returns how it ended."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def api_process() -> psutil.Process:
    """The API of the platform that runs in this process."""
    return next(child for child in psutil.Process().children(recursive=True) if "api" in child.cmdline()[-6:])


def processes_of(data: Path) -> list[psutil.Process]:
    """Processes that name this data folder in their arguments or environment."""
    return [one for one in psutil.process_iter() if any(str(data) in word for word in _words(one))]


def _words(process: psutil.Process) -> list[str]:
    try:
        return [*process.cmdline(), *process.environ().values()]
    except psutil.Error:
        return []

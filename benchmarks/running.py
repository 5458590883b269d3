"""A platform in processes of its own, as a person starts it with `gradstream up`."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gradstream.client import Client, Credentials
from gradstream.local.folder import DataFolder

GRADSTREAM = [sys.executable, "-m", "gradstream.cli.main"]
WITHIN = 120.0
"""Seconds that anything here may take to start or to end."""
_POLL_INTERVAL = 0.02
"""Seconds."""


class Failed(Exception):
    """A job or a program did not do what it was started for."""


class Running:
    def __init__(self, folder: Path, *options: str) -> None:
        """`options` of the command, beside its folder and its port.

        Raises: Failed, with the end of what it said."""
        self.folder = DataFolder(folder / "data")
        self.began = time.time()
        self._log = (folder / "up.log").open("wb")
        self._process = subprocess.Popen(
            [*GRADSTREAM, "up", "--data-dir", str(self.folder.path), "--port", str(free_port()), "--json", *options],
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said:
            raise Failed(f"gradstream up ended: {(folder / 'up.log').read_text()[-1000:]}")
        if "url" not in (found := json.loads(said)):
            raise Failed(f"gradstream up ended: {found}")
        self.url = str(found["url"])
        self.ready = time.time()

    @property
    def pid(self) -> int:
        return self._process.pid

    def client(self) -> Client:
        credentials = Credentials.load(self.folder.client_file)
        assert credentials is not None, "a platform that is ready has an account"
        return Client(credentials)

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()  # all that it started dies with it
            self._process.wait()
        self._log.close()

    def said_by_agent(self, job_id: str) -> Iterator[dict[str, Any]]:
        for line in (self.folder.logs / "agent.log").read_text().splitlines():
            if line.startswith("{") and job_id in line:
                yield json.loads(line)

    def until_warm(self) -> None:
        """Until the agent's zygote has imported everything. Raises: Failed: not in time."""
        log = self.folder.logs / "agent.log"
        until(lambda: '"event": "warm"' in log.read_text(), "the agent is not warm")


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Running]:
    platform = Running(folder, *options)
    try:
        yield platform
    finally:
        platform.close()


def until(there: Callable[[], object], otherwise: str, within: float = WITHIN) -> None:
    """Raises: Failed: it was not there in time."""
    deadline = time.monotonic() + within
    while not there():
        if time.monotonic() > deadline:
            raise Failed(f"{otherwise} after {within:g} s")
        time.sleep(_POLL_INTERVAL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

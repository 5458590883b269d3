"""The local end of the zygote (see `forkserver`): start job processes and hear how they end. Used by the node agent and by
`gradstream train`."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from gradstream.errors import Unavailable
from gradstream.process.begin import kept_environment
from gradstream.process.order import ENTRYPOINTS, ProcessOrder
from gradstream.process.zygote import launch, orphans
from gradstream.sandbox.sandbox import Isolation, Level, Sandbox

PRELOAD = (
    "torch",
    "numpy",
    "safetensors.torch",
    "redis",
    "httpx",
    *(entrypoint.partition(":")[0] for entrypoint in ENTRYPOINTS.values()),
)
"""Modules that all job processes import."""
_STEADY = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "PYTHONHASHSEED": "0",
    "SPT_NOENV": "1",
}
"""One thread before the fork, also where scikit-learn brings Arrow along; sets of text in the same order in every run; and a
process title that leaves /proc/PID/environ alone, where the owner of a process stands."""


@dataclass(frozen=True)
class Started:
    id: UUID
    pid: int


@dataclass(frozen=True)
class Refused:
    """It could not be started: too little memory, too many processes, or no torch to warm up with."""

    id: UUID
    message: str


@dataclass(frozen=True)
class Exited:
    id: UUID
    code: int
    """Negative for a signal."""


Event = Started | Refused | Exited


class Zygote:
    """Start it from a thread that lives as long as its processes should: they die with that thread.

    Not thread-safe: one thread calls everything here.
    """

    def __init__(
        self,
        *,
        preload: Sequence[str] = PRELOAD,
        fork: bool = sys.platform == "linux",
        log: IO[bytes] | None = None,
        owner: str | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        """`preload`: modules to import before the first fork. One with a leading `?` may be missing. `owner`: whose processes
        these are, for `orphans.end_owned`. `isolation`: what sandboxes it will be asked for; None: none."""
        self._preload, self._log = preload, log
        self._how = _how(fork, isolation)
        self._owner = {} if owner is None else {orphans.OWNER: owner}
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._rest = b""
        self._running: set[UUID] = set()
        self.ready = False
        """False while it warms up (3 s). Requests made meanwhile are kept and served then."""

    @property
    def alive(self) -> bool:
        return self._connection is not None

    @property
    def running(self) -> frozenset[UUID]:
        """Processes that were asked for and whose end has not been reported."""
        return frozenset(self._running)

    def start(self) -> None:
        """Returns at once; warming up goes on beside. May be called again after it died."""
        local, remote = socket.socketpair()
        with remote:
            self._process = subprocess.Popen(
                _guarded(
                    [sys.executable, "-m", "gradstream.process.zygote.forkserver", str(remote.fileno()), self._how, *self._preload]
                ),
                pass_fds=[remote.fileno()],
                env=kept_environment(os.environ) | _STEADY | self._owner,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
            )
        self._connection, self._rest, self.ready = local, b"", False

    def fork(self, order: ProcessOrder, folder: Path, *, entrypoint: str | None = None, sandbox: Sandbox | None = None) -> None:
        """Start the order's process in `folder`, which exists, with user code in `folder/code`. The answer is an event.

        Raises: Unavailable: `start` was not called, or not again after its death."""
        if self._connection is None:
            raise Unavailable("there is no zygote to start a process from")
        self._running.add(order.id)
        with _as_file(order.model_dump_json()) as file:
            self._send(
                file.fileno(),
                fork=str(order.id),
                folder=str(folder),
                entrypoint=entrypoint or ENTRYPOINTS[order.role],
                sandbox=sandbox and sandbox.as_json(),
                tables=bool(order.spec.tables),
            )

    def signal(self, id: UUID, number: signal.Signals) -> None:
        """To the process and all that it started. Harmless when it has ended."""
        self._send(signal=str(id), number=int(number))

    def events(self, timeout: float) -> list[Event]:
        """Return the events; wait up to `timeout` seconds for the first. When the zygote died, all its processes did:
        each is reported as killed, or as refused if it had never started, and `alive` is False."""
        if self._connection is None:
            return []
        readable, _, _ = select.select([self._connection], [], [], timeout)
        if not readable:
            return []
        try:
            received = self._connection.recv(65536)
        except ConnectionError:
            received = b""
        if not received:
            return self._died()
        *lines, self._rest = (self._rest + received).split(b"\n")
        return [event for line in lines if (event := self._parse(json.loads(line)))]

    def fileno(self) -> int:
        """To wait for its events together with others'; -1 when it is not alive."""
        return self._connection.fileno() if self._connection else -1

    def close(self, timeout: float = 5.0) -> None:
        """Kill what still runs, and end."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._running.clear()
        if self._process is not None:
            if not self.ready:
                self._process.terminate()  # it is importing, has no children yet, and looks at its socket only afterwards
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _send(self, *files: int, **request: object) -> None:
        if self._connection is None:
            return
        line = json.dumps(request).encode() + b"\n"
        try:
            sent = socket.send_fds(self._connection, [line], files)
            self._connection.sendall(line[sent:])
        except ConnectionError:
            pass  # it died; `events` will find the end of the stream and report its processes

    def _parse(self, message: dict[str, Any]) -> Event | None:
        if "ready" in message:
            self.ready = True
            return None
        if "started" in message:
            return Started(UUID(message["started"]), message["pid"])
        if "refused" in message:
            self._running.discard(id := UUID(message["refused"]))
            return Refused(id, message["message"])
        if "exited" in message:
            self._running.discard(id := UUID(message["exited"]))
            return Exited(id, message["code"])
        return None  # of a version that says more

    def _died(self) -> list[Event]:
        lost = sorted(self._running)
        was_ready = self.ready
        self.close()
        if was_ready:
            return [Exited(id, -signal.SIGKILL) for id in lost]
        return [Refused(id, "the program that starts job processes ended while it warmed up; its log says why") for id in lost]


def _how(fork: bool, isolation: Isolation | None) -> str:
    if not fork:
        return "spawn"
    return "fork-apart" if isolation and isolation.level is Level.NAMESPACE and os.geteuid() != 0 else "fork"


def _as_file(text: str) -> IO[bytes]:
    """A file without a name, so that no other process finds it."""
    file = tempfile.TemporaryFile() if sys.platform != "linux" else os.fdopen(os.memfd_create("order"), "w+b")  # noqa: SIM115
    file.write(text.encode())
    file.seek(0)
    return file


def _guarded(command: list[str]) -> list[str]:
    """The command under a guard (`orphans`), which outlives it and us for a moment, and leaves nothing of it behind."""
    if sys.platform != "linux":
        return command
    bare = [sys.executable, "-I", "-S"]
    return [*bare, launch.__file__, str(os.getpid()), str(int(signal.SIGTERM)), "-", *bare, orphans.__file__, *command]

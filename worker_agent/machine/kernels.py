"""The kernels of embedding tables, which an agent compiles when its machine has time. Jobs with tables wait for them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError

import structlog

from gradstream.center.tables import kernel_cache
from gradstream.process.begin import kept_environment
from gradstream.process.zygote import launch

log = structlog.get_logger(__name__)
WAIT_TIMEOUT = 80.0
"""Seconds that a process waits for kernels. The control plane gives an attempt 120 s to start."""
_TIMEOUT = 5.0
_POLL_INTERVAL = 0.1


class KernelCompiler:
    """A program at the lowest priority until a process waits for it, unless all kernels are there. It ends with the agent."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._hurried = False

    @property
    def busy(self) -> bool:
        """Kernels are being compiled."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Returns at once. Without the means, each job process compiles what it needs, which takes it some 20 s."""
        try:
            if not kernel_cache.is_complete():
                self._launch(kernel_cache.WHEN_IDLE)
        except (PackageNotFoundError, OSError) as error:
            log.info("no kernels of embedding tables are compiled ahead", why=str(error))

    async def wait(self, timeout: float = WAIT_TIMEOUT) -> str:
        """Wait until no kernels are being compiled, at most `timeout` seconds. Return what follows, as a clause."""
        began = time.monotonic()
        self._hurry()
        while self.busy and not kernel_cache.is_complete() and time.monotonic() < began + timeout:
            await asyncio.sleep(_POLL_INTERVAL)
        if kernel_cache.is_complete():
            return f"they were compiled after {time.monotonic() - began:.0f} s"
        why = f"it takes longer than {timeout:g} s" if self.busy else "the program that compiles them failed"
        return f"{why}, so this process compiles what it needs"

    def close(self) -> None:
        if self._process:
            if code := self._process.poll():
                log.warning("the kernels of embedding tables were not compiled ahead; jobs compile them", exit_code=code)
            self._end(self._process)
            self._process = None

    def _hurry(self) -> None:
        """Replace the program by one at the usual priority, which continues from the cache: Linux lets no ordinary user raise the
        priority of an idle process."""
        if self._process is None or not self.busy or self._hurried:
            return
        self._hurried = True
        self._end(self._process)
        try:
            self._launch()
        except OSError as error:
            log.warning("the kernels of embedding tables are not compiled ahead; jobs compile them", why=str(error))

    def _launch(self, *options: str) -> None:
        bound = [sys.executable, launch.__file__, str(os.getpid()), str(int(signal.SIGKILL)), "-"]
        self._process = subprocess.Popen(
            [*bound, sys.executable, "-m", "gradstream.model.compile_kernels", *options],
            env=kept_environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait(_TIMEOUT)

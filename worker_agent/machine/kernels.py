"""The kernels of embedding tables, which an agent compiles when its machine has time: jobs in sandboxes only read them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import structlog

from gradstream.center.tables import kernel_cache
from gradstream.process.begin import kept_environment
from gradstream.process.zygote import launch

log = structlog.get_logger(__name__)
_TIMEOUT = 5.0


class KernelCompiler:
    """A process at the lowest priority, unless all kernels are there. It ends with the agent."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns at once. Without the means, each job process compiles what it needs, which takes it some 20 s."""
        try:
            if kernel_cache.is_complete():
                return
            bound = [sys.executable, launch.__file__, str(os.getpid()), str(int(signal.SIGKILL)), "-"]
            self._process = subprocess.Popen(
                [*bound, sys.executable, "-m", "gradstream.model.compile_kernels"],
                env=kept_environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except (PackageNotFoundError, OSError) as error:
            log.info("no kernels of embedding tables are compiled ahead", why=str(error))

    def close(self) -> None:
        if self._process:
            if code := self._process.poll():
                log.warning("the kernels of embedding tables were not compiled ahead; jobs compile them", exit_code=code)
            self._process.kill()
            self._process.wait(_TIMEOUT)
            self._process = None

"""NVIDIA's Multi-Process Service (MPS) on this node: kernels of processes that share a GPU run side by side.

The agent runs the control daemon under its own account, with folders of its own, and ends it
(docs/adr/0157-mps-is-the-operators-choice.md)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from gradstream.process.order import MpsShare, ProcessOrder
from gradstream.process.zygote import launch
from gradstream.sandbox.probe import Lacking
from gradstream.sandbox.sandbox import Isolation, Level
from worker_agent.machine.gpus import Gpu

log = structlog.get_logger(__name__)

PROGRAM = "nvidia-cuda-mps-control"
_END_TIMEOUT = 5.0
"""Seconds that the daemon has to end by itself."""


class Mps:
    def __init__(self, work_dir: Path, isolation: Isolation) -> None:
        """Raises: Lacking: this machine has no such program, or its processes could not reach the daemon."""
        found = shutil.which(PROGRAM)
        if found is None:
            raise Lacking(f"--mps: {PROGRAM} is not on the PATH of the agent; install it with the driver, or leave --mps out")
        if isolation.level is not Level.NONE:
            raise Lacking(
                f"--mps: its daemon serves one account with one /dev/shm, and the isolation '{isolation.level}' gives processes "
                "others; set --isolation none, or leave --mps out"
            )
        self._program, self._logs = found, work_dir / "mps"
        self._pipes: Path | None = None
        self._memory = dict[int, int]()
        self._daemon: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The daemon's; None: it does not run."""
        return self._daemon.pid if self._daemon and self._daemon.poll() is None else None

    def start(self, gpus: Sequence[Gpu]) -> None:
        """Start the daemon for these GPUs, unless it runs, or there are none. It dies with this thread. Raises: OSError."""
        if self.pid or not gpus:
            return
        self._memory = {gpu.index: gpu.memory for gpu in gpus}
        self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._pipes = self._pipes or Path(tempfile.mkdtemp(prefix="gradstream-mps-"))  # short, as sockets are in it
        command = [
            sys.executable,
            "-I",
            "-S",
            launch.__file__,
            str(os.getpid()),
            str(int(signal.SIGTERM)),
            "-",
            self._program,
            "-f",
        ]
        self._daemon = subprocess.Popen(
            command, env=self._environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        log.info("MPS serves processes that share GPUs", gpus=sorted(self._memory), pid=self._daemon.pid, logs=str(self._logs))

    def told(self, order: ProcessOrder) -> ProcessOrder:
        """Return the order with its part of MPS, if it shares GPUs and the daemon runs."""
        if order.gpu_share == 1 or not order.gpus or self._pipes is None:
            return order
        if self.pid is None:
            log.error("the daemon of MPS has ended, so kernels take turns; start the agent again", label=order.label)
            return order
        memory = [self._memory[gpu] // order.gpu_share for gpu in order.visible_gpus]
        return order.model_copy(update={"mps": MpsShare(pipes=str(self._pipes), memory=memory)})

    def close(self) -> None:
        """End the daemon, after the processes that use it."""
        if self._daemon and self.pid:
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    [self._program],
                    input=b"quit\n",
                    env=self._environment(),
                    timeout=_END_TIMEOUT,
                    check=False,
                    capture_output=True,
                )
            self._end()
        if self._pipes:
            shutil.rmtree(self._pipes, ignore_errors=True)

    def _end(self) -> None:
        assert self._daemon is not None
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                self._daemon.wait(_END_TIMEOUT)
                return
            except subprocess.TimeoutExpired:
                log.warning("the daemon of MPS is still there", signal=number.name)
                with suppress(ProcessLookupError):
                    os.killpg(self._daemon.pid, number)  # `launch` has made it the first of a session
        self._daemon.wait()

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GRADSTREAM_", "CUDA_"))}
        own = {"CUDA_MPS_PIPE_DIRECTORY": str(self._pipes), "CUDA_MPS_LOG_DIRECTORY": str(self._logs)}
        return kept | own | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}

"""Processes that fetch mini-batches. The worker forks them; each makes every n-th mini-batch and sends it through a pipe.

Each has its own random number generators.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import torch

from gradstream.errors import ProcessLost
from gradstream.input import tensor_pipe
from gradstream.process.zygote.launch import die_with_parent

_PIPE = 1 << 20
"""Capacity of a pipe in bytes, if the machine allows it."""
_F_SETPIPE_SZ = 1031
_ENDS_WITHIN = 5.0
"""Seconds that a process may take to end."""

Fetch = Callable[[int], tuple[Any, int]]


class FetcherLost(ProcessLost):
    """The process or thread that fetches mini-batches is gone: killed, perhaps since memory ran out."""


class Fetchers:
    def __init__(self, fetch: Fetch, start: int, total: int, count: int) -> None:
        """Start `count` processes for the mini-batches from `start`. Call it in the main thread: they end with their thread."""
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
        self._start, self._pipes, self._processes = start, list[Connection](), list[Any]()
        for number in range(count):
            here, there = context.Pipe(duplex=False)
            args = (fetch, range(start + number, total, count), there, os.getpid())
            process = context.Process(target=_work, args=args, name=f"fetch-{number}", daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def fetch(self, position: int) -> tuple[Any, int]:
        """Return the next mini-batch; call it for one position after the other. Raises: FetcherLost; errors of the data set."""
        number = (position - self._start) % len(self._pipes)
        try:
            batch, examples = tensor_pipe.receive(self._pipes[number])
            return batch, examples
        except (EOFError, ConnectionError):
            self._processes[number].join(_ENDS_WITHIN)
            code = self._processes[number].exitcode
            raise FetcherLost(f"process {number} that fetches mini-batches has ended (exit code {code})") from None

    def close(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join(_ENDS_WITHIN)


def _work(fetch: Fetch, positions: range, pipe: Connection, parent: int) -> None:
    die_with_parent(parent, signal.SIGKILL)
    torch.set_num_threads(1)  # a child of a process that has computed must not use its parent's threads
    if sys.platform == "linux":
        try:
            fcntl.fcntl(pipe.fileno(), _F_SETPIPE_SZ, _PIPE)
        except OSError:
            pass  # more pipes than this account may enlarge: it is a matter of speed only
    for position in positions:
        try:
            tensor_pipe.send(pipe, fetch(position))
        except BrokenPipeError:
            return  # nobody wants them any more
        except BaseException as error:  # user code may raise anything, and even call sys.exit()
            tensor_pipe.send_error(pipe, tensor_pipe.portable(error, "in the process that fetches mini-batches"))
            return

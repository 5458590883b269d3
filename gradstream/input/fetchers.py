"""Processes that fetch mini-batches. The worker forks them; each makes every n-th mini-batch and sends it through a pipe.

Each has its own random number generators. Tensors travel as raw bytes, not in /dev/shm, which may be small.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gradstream.data.source import each
from gradstream.process.zygote.launch import die_with_parent

_PIPE = 1 << 20
"""Capacity of a pipe in bytes, if the machine allows it."""
_F_SETPIPE_SZ = 1031
_ENDS_WITHIN = 5.0
"""Seconds that a process may take to end."""

Fetch = Callable[[int], tuple[Any, int]]


class FetcherLost(Exception):
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
            return _receive(self._pipes[number])
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
            batch, examples = fetch(position)
            _send(pipe, (each(batch, _Sent.of), examples))
        except BrokenPipeError:
            return  # nobody wants them any more
        except BaseException as error:  # user code may raise anything, and even call sys.exit()
            error.add_note(f"in the process that fetches mini-batches:\n{traceback.format_exc()}")
            _send(pipe, _sendable(error))
            return


class _Sent(NamedTuple):
    """A tensor on its way."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    data: Any

    @staticmethod
    def of(tensor: Tensor) -> Any:
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        return _Sent(tensor.dtype, tuple(tensor.shape), pickle.PickleBuffer(flat.view(torch.uint8).numpy().data))

    def tensor(self) -> Tensor:
        if not len(self.data):
            return torch.empty(self.shape, dtype=self.dtype)
        return torch.frombuffer(self.data, dtype=self.dtype).view(self.shape)


def _send(pipe: Connection, message: Any) -> None:
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    pipe.send_bytes(pickle.dumps((head, [view.nbytes for view in views])))
    for view in views:
        while view:
            view = view[os.write(pipe.fileno(), view) :]


def _receive(pipe: Connection) -> tuple[Any, int]:
    """Raises: EOFError, when the process is gone."""
    head, sizes = pickle.loads(pipe.recv_bytes())
    buffers = [torch.empty(size, dtype=torch.uint8).numpy().data for size in sizes]
    for buffer in buffers:
        _read_into(buffer, pipe.fileno())
    message = pickle.loads(head, buffers=buffers)
    if isinstance(message, BaseException):
        raise message
    batch, examples = message
    return _unpacked(batch), examples


def _read_into(view: memoryview, pipe: int) -> None:
    """Straight to where it stays: a `Connection` would copy twice."""
    while view:
        read = os.readv(pipe, [view])
        if not read:
            raise EOFError
        view = view[read:]


def _unpacked(batch: Any) -> Any:
    """`each` for what was sent."""
    if isinstance(batch, _Sent):
        return batch.tensor()
    if isinstance(batch, dict):
        return {key: _unpacked(value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(_unpacked, batch))
    if isinstance(batch, list | tuple):
        return type(batch)(map(_unpacked, batch))
    return batch


def _sendable(error: BaseException) -> BaseException:
    """The error itself, or one of its text, if it cannot be pickled and made again."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])]))
    return error

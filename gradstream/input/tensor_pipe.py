"""Values on their way between two processes of a worker: nests of tensors and plain values, and errors.

Tensors travel as raw bytes through the pipe, not in /dev/shm, which may be small. They arrive at the same place within a cache
line: the bits of a matrix product may depend on it.
"""

from __future__ import annotations

import os
import pickle
import select
import struct
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gradstream.data.source import each

_LINE = 64
"""Bytes of a cache line, where torch lets tensors begin."""
_LENGTH = struct.Struct("=q")
"""Bytes of the head of a message, which come before it."""

WaitForPipe = Callable[[int, int], None]
"""Wait for a pipe that does not block: its file, and what is awaited, `select.POLLIN` or `select.POLLOUT`."""


class _Sent(NamedTuple):
    """A tensor on its way."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    data: Any

    @staticmethod
    def of(tensor: Tensor) -> Any:
        """Its buffer lies over the array: Python 3.11 crashes when it collects a cycle that holds one over a memoryview."""
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        array: Any = flat.view(torch.uint8).numpy()
        return _Sent(tensor.dtype, tuple(tensor.shape), pickle.PickleBuffer(array))

    def tensor(self) -> Tensor:
        if not len(self.data):
            return torch.empty(self.shape, dtype=self.dtype)
        return torch.frombuffer(self.data, dtype=self.dtype).view(self.shape)


class Packed(NamedTuple):
    """A value that is ready to be written. It has the memory of its tensors, which must not change until then."""

    head: bytes
    views: list[memoryview]


def pack(value: Any) -> Packed:
    """Pack a nest of tuples, lists and dicts. Raises: what pickle does with a value that is none of these, and no tensor."""
    return _packed(each(value, _Sent.of))


def write(pipe: Connection, packed: Packed, wait: WaitForPipe | None = None) -> None:
    """Send what was packed. Waits while the pipe is full: by `wait`, if the pipe does not block. Raises: BrokenPipeError: the other
    process is gone; what `wait` raises."""
    head = pickle.dumps((packed.head, [(view.nbytes, _address(view) % _LINE) for view in packed.views]))
    for view in (memoryview(_LENGTH.pack(len(head)) + head), *packed.views):
        _write_from(view, pipe.fileno(), wait)


def send(pipe: Connection, value: Any, wait: WaitForPipe | None = None) -> None:
    """Pack a value and write it. Raises: as these two."""
    write(pipe, pack(value), wait)


def send_vector(pipe: Connection, vector: Tensor, wait: WaitForPipe | None = None) -> None:
    """Send the bytes of a vector as they are, for `receive_vector`. Raises: as `write`."""
    _write_from(_bytes_of(vector), pipe.fileno(), wait)


def receive_vector(pipe: Connection, into: Tensor, wait: WaitForPipe | None = None) -> None:
    """Receive a vector, or the next part of one, to where it stays. Raises: as `receive`."""
    _read_into(_bytes_of(into), pipe.fileno(), wait)


def send_error(pipe: Connection, error: BaseException) -> None:
    """Let `receive` raise this error, which is `portable`, in the other process."""
    write(pipe, _packed(error))


def portable(error: BaseException, where: str) -> BaseException:
    """Return the error that is being handled, with a note of its traceback; or one of its text, if it cannot be pickled."""
    error.add_note(f"{where}:\n{traceback.format_exc()}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])]))
    return error


def receive(pipe: Connection, wait: WaitForPipe | None = None) -> Any:
    """Return the next value. `wait`: as for `write`. Raises: what `send_error` got; what `wait` raises; EOFError or
    ConnectionError, when the other process is gone."""
    length = memoryview(bytearray(_LENGTH.size))
    _read_into(length, pipe.fileno(), wait)
    packed_head = memoryview(bytearray(_LENGTH.unpack(length)[0]))
    _read_into(packed_head, pipe.fileno(), wait)
    head, sizes = pickle.loads(packed_head)
    buffers = [torch.empty(shift + size, dtype=torch.uint8).numpy().data[shift:] for size, shift in sizes]
    for buffer in buffers:
        _read_into(buffer, pipe.fileno(), wait)
    message = pickle.loads(head, buffers=buffers)
    if isinstance(message, BaseException):
        raise message
    return _unpacked(message)


def _packed(message: Any) -> Packed:
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    return Packed(head, [buffer.raw() for buffer in buffers])


def _bytes_of(vector: Tensor) -> memoryview:
    array: Any = vector.detach().view(torch.uint8).numpy()
    return memoryview(array)


def _address(view: memoryview) -> int:
    return torch.frombuffer(view, dtype=torch.uint8).data_ptr() if view.nbytes else 0


def _write_from(view: memoryview, pipe: int, wait: WaitForPipe | None) -> None:
    while view:
        try:
            view = view[os.write(pipe, view) :]
        except BlockingIOError:
            if wait is None:
                raise
            wait(pipe, select.POLLOUT)


def _read_into(view: memoryview, pipe: int, wait: WaitForPipe | None) -> None:
    """Straight to where it stays: a `Connection` would copy twice."""
    while view:
        try:
            read = os.readv(pipe, [view])
        except BlockingIOError:
            if wait is None:
                raise
            wait(pipe, select.POLLIN)
            continue
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

"""Responses between processes of one host: each incarnation of a worker has a named pipe, which the shards on its host write to.

A response through Redis costs three programs their turn, one through a pipe costs two system calls. It must not arrive before the
vector that it brings: a vector is copied before its response is written, and system calls order memory on every processor. A
response is written whole or not at all (`PIPE_BUF`), so those of several shards cannot mix. A longer one, as with places in
hundreds of partitions, lies in a file beside the pipe, which the worker removes.

| bytes | meaning                                            |
|-------|----------------------------------------------------|
| 2     | length of what follows the shard                   |
| 2     | the shard, plus `_IN_FILE` if a file has it        |
| ...   | a `ResponseMessage`, or the number of that file    |
"""

from __future__ import annotations

import os
import select
import struct
from functools import partial
from pathlib import Path

from gradstream.errors import PlaneLost

_FRAME = struct.Struct("<HH")
_IN_FILE = 1 << 15
_LONGEST = select.PIPE_BUF - _FRAME.size
_READ = 65_536


class ResponsePipe:
    """The worker's end."""

    def __init__(self, folder: Path, rank: int, incarnation: int) -> None:
        """Raises: OSError."""
        file = _file(folder, rank, incarnation)
        self._handle, self._long_file = -1, partial(_long_file, folder, f"{rank}.{incarnation}")
        os.mkfifo(file, 0o600)
        self._handle = os.open(file, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)  # also for writing: so it never ends
        os.fchmod(self._handle, 0o666)  # shards may run under another account; the folder says who may enter
        self._poll = select.poll()
        self._poll.register(self._handle, select.POLLIN)
        self._rest = b""
        self.torn = False
        """Something lay there that no shard has written, and was thrown away; what was behind it may be missing."""

    def read(self, within: float) -> list[tuple[int, bytes]]:
        """(shard, response) of all that lie there, waiting up to `within` seconds for the first."""
        if not self._poll.poll(within * 1000):
            return []
        data, found, start = self._rest + os.read(self._handle, _READ), [], 0
        may_go_on = len(data) - len(self._rest) == _READ
        while start + _FRAME.size <= len(data):
            length, shard = _FRAME.unpack_from(data, start)
            end = start + _FRAME.size + length
            if end > len(data):
                break
            found.append(self._message(shard, data[start + _FRAME.size : end]))
            start = end
        self._rest = data[start:] if may_go_on else b""
        self.torn = self.torn or (not may_go_on and start < len(data))
        return found

    def _message(self, shard: int, content: bytes) -> tuple[int, bytes]:
        """Return the shard and its response; nothing in place of one whose file is not there, as user code may have written."""
        if not shard & _IN_FILE:
            return shard, content
        shard ^= _IN_FILE
        try:
            file = self._long_file(shard, int(content))
            response = file.read_bytes()
            file.unlink()
        except (OSError, ValueError):
            return shard, b""
        return shard, response

    def __del__(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)


class ResponsePipeWriter:
    """A shard's end."""

    def __init__(self, folder: Path, rank: int, incarnation: int, shard: int) -> None:
        self._shard, self._worker, self._handle = shard, f"{rank}.{incarnation}", -1
        self._folder, self._files = folder, 0
        try:
            self._handle = os.open(_file(folder, rank, incarnation), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            pass  # nobody reads there: the worker is dead already, or its host's folder was removed

    def put(self, response: bytes) -> None:
        """Nothing, when the worker is dead. Raises: PlaneLost, when it has not read its responses for a long time."""
        if self._handle < 0:
            return
        is_long = len(response) > _LONGEST
        content = self._put_into_file(response) if is_long else response
        try:
            os.write(self._handle, _FRAME.pack(len(content), self._shard | _IN_FILE * is_long) + content)
        except BrokenPipeError:
            pass  # its leave is on the way
        except BlockingIOError as error:
            raise PlaneLost(f"worker {self._worker} does not read its responses: its pipe is full") from error

    def _put_into_file(self, response: bytes) -> bytes:
        """Return the number of the file. Raises: PlaneLost."""
        self._files += 1
        file = _long_file(self._folder, self._worker, self._shard, self._files)
        try:
            file.unlink(missing_ok=True)
            with file.open("xb") as opened:  # user code may have put a link there, which is not followed
                os.fchmod(opened.fileno(), 0o644)  # workers may run under another account; the folder says who may enter
                opened.write(response)
        except OSError as error:
            raise PlaneLost(f"a response of {len(response):,} bytes to worker {self._worker} cannot be written: {error}") from error
        return str(self._files).encode()

    def __del__(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)


def _long_file(folder: Path, worker: str, shard: int, number: int) -> Path:
    """`worker`: rank and incarnation."""
    return folder / f"{worker}.{shard}.{number}.response"


def _file(folder: Path, rank: int, incarnation: int) -> Path:
    return folder / f"{rank}.{incarnation}.responses"

"""Lines that say which process they come from, where several write into one log: those of Python, of C, and of their own children.

A child writes into pipes, and a thread of this process reads them. So the lines that a child wrote last before it crashed are not
lost, and each is written as a whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import threading
from typing import NamedTuple

_PIPE_BYTES = 2**20
"""Bytes that a child can write while this process does not come to read them."""
_LONGEST_LINE = 2**16
"""Bytes of a line that is not ended, after which its beginning is written."""


class ChildEnds(NamedTuple):
    """The ends of two pipes that a child writes into."""

    out: int
    err: int


class LabelledOutput:
    """Writes what some children write to their standard output and error to those of this process."""

    def __init__(self) -> None:
        self._streams: list[_ChildStream] = []
        self._thread = threading.Thread(target=self._run, name="output of children", daemon=True)

    def add(self, label: str) -> ChildEnds:
        """Return the ends for one more child, whose lines begin with this. It is forked next, and then `close_ends` is called.
        Raises: OSError: too many files are open."""
        ends = []
        for target in (1, 2):
            reads, writes = os.pipe()
            with contextlib.suppress(OSError):  # a user may have only so much memory for pipes
                fcntl.fcntl(reads, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            self._streams.append(_ChildStream(reads, target, label.encode()))
            ends.append(writes)
        return ChildEnds(*ends)

    def begin_child(self, ends: ChildEnds) -> None:
        """In the child: write there from now on."""
        for stream in self._streams:
            os.close(stream.pipe)
        os.dup2(ends.out, 1)
        os.dup2(ends.err, 2)
        self.close_ends(ends)

    @staticmethod
    def close_ends(ends: ChildEnds) -> None:
        """In this process, when the child is forked: so that the end of a pipe comes with that of the child."""
        for end in ends:
            os.close(end)

    def start(self) -> None:
        """Read, when all children are forked: no thread runs before."""
        self._thread.start()

    def drain(self, timeout: float) -> None:
        """Wait until all children have ended and their last lines are written. They may have children that go on, so the wait is
        bounded. `timeout`: seconds."""
        self._thread.join(timeout)

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for stream in self._streams:
                selector.register(stream.pipe, selectors.EVENT_READ, stream)
            while selector.get_map():
                for key, _ in selector.select():
                    if not key.data.pass_on():
                        selector.unregister(key.fd)
                        os.close(key.fd)


class _ChildStream:
    """One pipe of a child."""

    def __init__(self, pipe: int, target: int, label: bytes) -> None:
        """`target`: the file that its lines are written to."""
        self.pipe, self._target, self._label = pipe, target, label
        self._held = b""
        """The beginning of a line that has not ended."""
        self._begins = True
        """The next byte begins a line."""

    def pass_on(self) -> bool:
        """Write the lines that the pipe has. Returns whether more may come."""
        data = os.read(self.pipe, _LONGEST_LINE)
        lines = (self._held + data).splitlines(keepends=True)
        holds = data and lines[-1][-1:] not in b"\r\n" and len(lines[-1]) < _LONGEST_LINE
        self._held = lines.pop() if holds else b""
        written = b"".join((self._label if number or self._begins else b"") + line for number, line in enumerate(lines))
        if written:
            self._begins = written[-1:] in b"\r\n"
        with contextlib.suppress(OSError):  # the disk may be full: then lines are lost, and the child goes on
            while written:
                written = written[os.write(self._target, written) :]
        return bool(data)

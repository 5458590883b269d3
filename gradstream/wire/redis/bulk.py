"""Reading entries with large fields: their bytes go from the socket to where they belong, and nowhere else first.

An entry is a part of a vector: small fields, and `b` last. Anything else that lies in the stream (user code shares its process's
account) is read over.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TypeVar

from redis import exceptions

from gradstream.wire.redis.connection import Connection, error_of

T = TypeVar("T")
Fields = dict[bytes, bytes]
Place = Callable[[bytes, Fields, int], memoryview | None]
"""(key, fields so far, length) -> where the `b` of an entry shall lie; None: nowhere."""
Taken = Callable[[bytes, bytes, Fields], None]
"""(key, id of the entry, its small fields), told when the whole entry was read."""

_SMALL = 512
"""Bytes read at once while no large field comes: what is read too far has to be copied."""
_LONGEST = 64 * 1024
"""Bytes of a field that is not `b`."""


class BulkConnection(Connection):
    def __init__(self, url: str, *, user: str | None = None, password: str | None = None, block: float) -> None:
        super().__init__(url, user=user, password=password, block=block)
        self._buffer = bytearray(_LONGEST + 2)
        self._view = memoryview(self._buffer)
        self._low = self._high = 0

    def number(self) -> int:
        """Read a reply that is a number. Raises: as `Resp.ask`."""
        return self._guarded(lambda: self._count(b":"))

    def entries(self, place: Place, taken: Taken) -> bool:
        """Read the reply to an XREAD; False: it found nothing in its time.

        Raises: as `Resp.ask`; what was `taken` by then is whole."""
        return self._guarded(lambda: self._entries(place, taken))

    def close(self) -> None:
        super().close()
        self._low = self._high = 0

    def _guarded(self, read: Callable[[], T]) -> T:
        if self._socket is None:
            raise exceptions.ConnectionError("the connection was lost")
        try:
            return read()
        except BaseException as error:
            self._lose(error)

    def _entries(self, place: Place, taken: Taken) -> bool:
        streams = self._count(b"*")
        for _ in range(streams):
            self._count(b"*")
            key = self._small()
            for _ in range(self._count(b"*")):
                self._count(b"*")
                entry = self._small()
                taken(key, entry, self._fields(key, self._count(b"*"), place))
        return streams > 0

    def _fields(self, key: bytes, count: int, place: Place) -> Fields:
        fields: Fields = {}
        for _ in range(count // 2):
            name = self._small()
            if name == b"b":
                size = self._count(b"$")
                self._into(place(key, fields, size), size)
            else:
                fields[name] = self._small()
        return fields

    def _count(self, kind: bytes) -> int:
        """Read the number of items that follow; -1: none. Raises: the error that Redis sent instead."""
        line = self._line()
        if line[:1] == kind:
            return int(line[1:])
        if line[:1] == b"-":
            raise error_of(line[1:].decode(errors="replace"))
        raise exceptions.InvalidResponse(f"expected {kind!r}, got {line[:40]!r}")

    def _line(self) -> bytes:
        while (end := self._buffer.find(b"\r\n", self._low, self._high)) < 0:
            if self._high - self._low > _SMALL:
                raise exceptions.InvalidResponse("a line without an end")
            self._more()
        line = bytes(self._view[self._low : end])
        self._low = end + 2
        return line

    def _small(self) -> bytes:
        size = self._count(b"$")
        if size > _LONGEST:
            self._into(None, size)
            return b""
        value = bytearray(size)
        self._into(memoryview(value), size)
        return bytes(value)

    def _into(self, place: memoryview | None, size: int) -> None:
        """Read a field of this size and the end of its line."""
        done = min(size, self._high - self._low)
        if place is not None:
            place[:done] = self._view[self._low : self._low + done]
        self._low += done
        while done < size:
            if place is not None:
                done += self._receive(place[done:size], socket.MSG_WAITALL)
            else:
                done += self._receive(self._view[: min(size - done, _LONGEST)])
        while self._high - self._low < 2:
            self._more()
        self._low += 2

    def _more(self) -> None:
        if self._low == self._high:
            self._low = self._high = 0
        elif self._high + _SMALL > len(self._buffer):
            self._buffer[: self._high - self._low] = self._buffer[self._low : self._high]
            self._low, self._high = 0, self._high - self._low
        self._high += self._receive(self._view[self._high : self._high + _SMALL])

    def _receive(self, place: memoryview, flags: int = 0) -> int:
        assert self._socket is not None, "who reads has connected"
        if not (size := self._socket.recv_into(place, 0, flags)):
            raise ConnectionResetError("Redis closed it")
        return size

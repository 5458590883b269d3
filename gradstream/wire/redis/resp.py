"""A minimal client for the commands of the hot path: several commands in one write, all replies in one wait.

Replies are RESP2's: integers, bytes, None and lists of them, as Redis sends them; the fields of a stream's entry are one flat list.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import hiredis
from redis import exceptions

from gradstream.wire.redis.connection import Command, Connection, error_of

__all__ = ["Command", "Resp"]


class Resp(Connection):
    """The first command connects. A connection that broke is dropped, and the next command makes a new one; nothing is repeated."""

    def __init__(self, url: str, *, user: str | None = None, password: str | None = None, block: float) -> None:
        super().__init__(url, user=user, password=password, block=block)
        self._reader = _reader()
        self._replies: deque[Any] = deque()
        self._buffer = bytearray(64 * 1024)

    def ask(self, *commands: Command) -> list[Any]:
        """One reply per command. Not while replies to what was posted are missing.

        Raises: of redis.exceptions: ConnectionError or TimeoutError (what was done is unknown); AuthenticationError; or the
        first error among the replies (the other commands were done)."""
        self.post(*commands)
        return self.results(len(commands))

    def results(self, count: int) -> list[Any]:
        """The next replies to what was posted. Raises: as `ask`."""
        replies = self.replies(count)
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def replies(self, count: int) -> list[Any]:
        """The next replies to what was posted; errors among them are not raised. Raises: as `post`; then no reply is left."""
        connection, found, reader, buffer = self._socket, self._replies, self._reader, self._buffer
        if connection is None:
            raise exceptions.ConnectionError("the connection was lost")
        try:
            while len(found) < count:
                size = connection.recv_into(buffer)
                if not size:
                    raise ConnectionResetError("Redis closed it")
                reader.feed(buffer, 0, size)  # type: ignore[arg-type]
                while (reply := reader.gets()) is not False:
                    found.append(reply)
        except BaseException as error:
            self._lose(error)
        return [found.popleft() for _ in range(count)]

    def close(self) -> None:
        super().close()
        self._reader = _reader()
        self._replies.clear()


def _reader() -> hiredis.Reader:
    return hiredis.Reader(protocolError=exceptions.InvalidResponse, replyError=error_of)

"""uvicorn's connections with deadlines, and with a bound on how many there are."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from http import HTTPStatus
from typing import ClassVar, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from backend.web.problems import body_of

_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: 2\r\nconnection: close\r\n\r\n"
    b"Too many connections are open. Close some, or try again in a moment.\n"
)
_NO_HTTP = "This is not a valid HTTP/1.1 request: a line, a header field or a length is malformed."
_REFUSED = {
    431: (
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The address and header fields of a request take 65,536 bytes at most. Send what is long in the body.",
    ),
    501: (
        HTTPStatus.BAD_REQUEST,
        "The API reads no other Transfer-Encoding than 'chunked'. Send the body as it is, with its Content-Length.",
    ),
}
"""The answer to what h11 refuses, by the status that h11 proposes. A status of 500 and above would say that the API is at fault."""


def _response(status: HTTPStatus, detail: str) -> bytes:
    name = status.phrase.title().replace(" ", "")
    body = json.dumps(body_of("", name, status, detail)).encode()
    fields = f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    return f"HTTP/1.1 {status.value} {status.phrase}\r\n{fields}".encode() + body


class BoundedConnection(H11Protocol):
    """Closes a connection that does not go on. One that is too many takes the place of the one that has been waiting for a request
    for longest, of its own address if that has too many; if none waits, it is refused."""

    header_seconds: ClassVar[float] = 10.0
    """From the connection, or the first byte of a later request, to the end of the header."""
    body_seconds: ClassVar[float] = 30.0
    """Without a byte, while somebody reads the body."""
    linger_seconds: ClassVar[float] = 5.0
    """Time to discard the rest of an unread body, so that the client can read the response."""
    write_seconds: ClassVar[float] = 120.0
    """Without a byte taken by the client."""
    most: ClassVar[int] = 4096
    most_of_address: ClassVar[int] = 1024
    by_address: ClassVar[Counter[str]] = Counter()
    """How many connections each address has."""

    transport: asyncio.Transport
    _waits_since: float | None = None
    """Since when it has had no request; None: it has one."""
    _refused: bool = False
    """It sent what is no HTTP, and has the answer."""
    _deadline: asyncio.TimerHandle | None = None
    _write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.by_address[self._address] += 1
        self._waits_since = self.loop.time()
        self._expect(self.header_seconds)
        if not self._admit():
            transport.write(_REFUSAL)
            self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        if self._write_deadline is not None:
            self._write_deadline.cancel()
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return  # read all the same: a connection that is cut with bytes unread takes the answer from the client
        idle = self.timeout_keep_alive_task is not None
        super().data_received(data)
        self._look(begins=idle)

    def _look(self, *, begins: bool) -> None:
        """After bytes have come: what is waited for now."""
        if self.transport.is_closing() or self._refused:
            return
        theirs = self.conn.their_state
        answered = self.cycle is None or self.cycle.response_complete
        if theirs is h11.IDLE and answered:
            self._waits_since = self._waits_since or self.loop.time()
            if begins or self._deadline is None:
                self._expect(self.header_seconds)
            return
        self._waits_since = None
        if theirs is not h11.SEND_BODY:
            self._cancel()
        elif not answered:
            self._expect(self.body_seconds)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, with a problem as all errors have. uvicorn calls it while it handles h11's error."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the rest of this request never comes
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self._close()
                return
        status, detail = _REFUSED.get(getattr(sys.exception(), "error_status_hint", 400), (HTTPStatus.BAD_REQUEST, _NO_HTTP))
        self.transport.write(_response(status, detail))
        self._refused = True
        self._expect(self.linger_seconds)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if not self.cycle.response_complete:  # the next request was here already
            self._look(begins=False)
        elif self.conn.their_state is h11.SEND_BODY:
            self._expect(self.linger_seconds)
        else:
            self._waits_since = self.loop.time()
            self._cancel()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.loop.call_later(self.linger_seconds, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_deadline = self.loop.call_later(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None

    def _expect(self, seconds: float) -> None:
        self._cancel()
        self._deadline = self.loop.call_later(seconds, self._late)

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        answered = self.cycle is None or self.cycle.response_complete
        if self.conn.their_state is h11.SEND_BODY and not answered and self.flow.read_paused:
            self._expect(self.body_seconds)  # it is we who do not read
        else:
            self._close()

    def _close(self) -> None:
        self._cancel()
        self.transport.close()
        self.loop.call_later(self.linger_seconds, self.transport.abort)  # a client that reads nothing keeps it open otherwise

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _leave(self) -> None:
        """Count this connection no more; for the second time, nothing happens."""
        if self in self.connections:
            self.connections.discard(self)
            self.by_address[self._address] -= 1
            if not self.by_address[self._address]:
                del self.by_address[self._address]

    def _admit(self) -> bool:
        """Return whether this connection may stay."""
        crowded = self.by_address[self._address] > self.most_of_address
        if not crowded and len(self.connections) <= self.most:
            return True
        others = (cast(BoundedConnection, each) for each in self.connections if each is not self)
        waiting = [each for each in others if each._waits_since is not None and (not crowded or each._address == self._address)]
        oldest = min(waiting, key=lambda each: each._waits_since or 0.0, default=None)
        if oldest is None:
            return False
        oldest._waits_since = None
        oldest._leave()
        oldest.transport.abort()
        return True


def bounded(open_files: int, of_address: int | None) -> type[BoundedConnection]:
    """The protocol for a process that may have so many open files: a quarter of them is for all else."""
    most = min(BoundedConnection.most, max(64, 3 * open_files // 4))
    of_one = min(BoundedConnection.most_of_address, most // 2) if of_address is None else min(of_address, most)
    bounds = {"most": most, "most_of_address": of_one, "by_address": Counter[str]()}
    return type("BoundedConnection", (BoundedConnection,), bounds)

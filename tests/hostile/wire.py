"""HTTP by hand: requests that no client library would send, on a connection that is kept."""

from __future__ import annotations

import gzip
import socket
import time
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from urllib.parse import urlsplit

from tests.hostile.calls import Call
from tests.support import TIMEOUT

_SOME = 4 * 2**20
"""Bytes of an answer that are looked at."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    """0: the connection was closed without one."""
    kind: str
    """Its content type."""
    content: bytes
    seconds: float
    """From the request's last byte to the answer's last; of a stream, to its header."""
    processor: float
    """Seconds of all threads of this process meanwhile."""


class Wire:
    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._address = (where.hostname or "", where.port or 0)
        self._socket: socket.socket | None = None

    def send(self, call: Call) -> Answer:
        """A kept connection may have been closed by the other side meanwhile; then a new one is used."""
        for fresh in (False, True):
            answer = self._send(call, fresh)
            if answer.status or fresh or answer.seconds > 1:
                return answer
        raise AssertionError("the second time is the last")

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, call: Call, fresh: bool) -> Answer:
        if fresh:
            self.close()
        began, ran = time.monotonic(), time.process_time()
        status, kind, content = 0, "", b""
        try:
            if self._socket is None:
                self._socket = socket.create_connection(self._address, timeout=TIMEOUT)
            try:
                self._socket.sendall(_written(call))
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before its end; the answer may be there
            response = HTTPResponse(self._socket, method=call.method)
            response.begin()
            status, kind = response.status, response.headers.get("content-type", "")
            is_stream = kind.startswith("text/event-stream")
            content = b"" if is_stream else response.read(_SOME)
            if response.headers.get("content-encoding") == "gzip" and len(content) < _SOME:
                content = gzip.decompress(content)
            if is_stream or response.will_close or not response.isclosed():
                self.close()
        except (ConnectionError, HTTPException):
            self.close()
        return Answer(status, kind, content, time.monotonic() - began, time.process_time() - ran)


def _written(call: Call) -> bytes:
    head = [call.method.encode() + b" " + call.target + b" HTTP/1.1", *(name + b": " + value for name, value in call.headers)]
    if call.body is not None:
        head.append(b"content-length: %d" % len(call.body))
    return b"\r\n".join([*head, b"", b""]) + (call.body or b"")

"""A Kafka broker that knows no account: it answers the first three requests of the real protocol, the last one with a refusal.

The broker of `tests.kafka` asks for no account."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

HANDSHAKE, API_VERSIONS, AUTHENTICATE = 17, 18, 36
UNSUPPORTED_VERSION, SASL_AUTHENTICATION_FAILED = 35, 58


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while size := self.rfile.read(4):
            request = self.rfile.read(*struct.unpack(">i", size))
            key, version, number = struct.unpack_from(">hhi", request)
            body = struct.pack(">i", number) + _response(key, version)
            self.wfile.write(struct.pack(">i", len(body)) + body)


def _response(key: int, version: int) -> bytes:
    if key == API_VERSIONS:
        known = ((HANDSHAKE, 0, 1), (API_VERSIONS, 0, 0), (AUTHENTICATE, 0, 0))
        error = UNSUPPORTED_VERSION if version else 0
        return struct.pack(">hi", error, len(known)) + b"".join(struct.pack(">hhh", *each) for each in known)
    if key == HANDSHAKE:
        return struct.pack(">hi", 0, 1) + struct.pack(">h", 5) + b"PLAIN"
    assert key == AUTHENTICATE
    why = b"no such user"
    return struct.pack(">hh", SASL_AUTHENTICATION_FAILED, len(why)) + why + struct.pack(">i", 0)


@contextmanager
def refusing_broker() -> Iterator[str]:
    """Yield its address."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Connection) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()

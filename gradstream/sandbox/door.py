"""The way of a process without a network to the data plane and the API: it asks its agent for a connection, and gets the open
socket itself, so nothing is copied on the way.

Over a unix socket, one request a connection: `host:port` or `/path` in, a line out: `ok`, with the descriptor, or why not."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

TIMEOUT = 5.0
"""Seconds for an answer."""
MAX_BYTES = 4096
"""Bytes of a request or an answer."""
OPENED = b"ok"
_path: str | None = None


def use(path: str) -> None:
    """From now on this process reaches others through this door."""
    global _path
    _path = path


def is_used() -> bool:
    return _path is not None


def address_of(url: str) -> str:
    """Where a URL of the data plane or the API leads: `host:port`, or a path."""
    where = urlsplit(url)
    default = {"http": 80, "https": 443}.get(where.scheme, 6379)
    return where.path if where.scheme == "unix" else f"{where.hostname}:{where.port or default}"


def connect(address: str) -> socket.socket:
    """A connection to `host:port` or `/path`. Raises: OSError: it is refused, or could not be made."""
    assert _path is not None, "only behind a door"
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(TIMEOUT)
        door.connect(_path)
        door.sendall(address.encode() + b"\n")
        answer, descriptors, _, _ = socket.recv_fds(door, MAX_BYTES, 1)
    if not descriptors:
        raise ConnectionRefusedError(answer.decode(errors="replace").strip() or "the agent has closed the door")
    connection = socket.socket(fileno=descriptors[0])
    connection.settimeout(None)  # the agent had a bound for its connecting
    return connection

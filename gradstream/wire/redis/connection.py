"""A connection to Redis of our own: where it leads, how it signs in, and what its failures are called."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable
from typing import NoReturn
from urllib.parse import urlsplit

import hiredis
from redis import exceptions

from gradstream.sandbox import door

Arg = bytes | str | int | memoryview
"""Argument of a command. Memoryviews of bytes are sent from where they lie, uncopied."""
Command = tuple[Arg, ...]

CONNECT = 2.0
"""Seconds."""
GRACE_PERIOD = 5.0
"""Seconds that a reply may take beyond the longest blocking read."""
MAX_BUFFERS = 512
"""Buffers that one `sendmsg` takes; the systems' limit is 1,024."""

_ERRORS: dict[str, type[exceptions.RedisError]] = {
    "OOM": exceptions.OutOfMemoryError,
    "LOADING": exceptions.BusyLoadingError,
    "READONLY": exceptions.ReadOnlyError,
    "NOAUTH": exceptions.AuthenticationError,
    "WRONGPASS": exceptions.AuthenticationError,
    "NOPERM": exceptions.NoPermissionError,
    "MASTERDOWN": exceptions.MasterDownError,
    "CLUSTERDOWN": exceptions.ClusterDownError,
    "TRYAGAIN": exceptions.TryAgainError,
}
_MOVED = {"MOVED": exceptions.MovedError, "ASK": exceptions.AskError}
_ERRORS_BY_TEXT = {"ERR max number of clients reached": exceptions.ConnectionError}


class Connection:
    """Made when it is first needed, and again when it was lost. One thread at a time may use it."""

    def __init__(self, url: str, *, user: str | None = None, password: str | None = None, block: float) -> None:
        """For `redis://host:port` or `unix:///path`. `block`: longest blocking read, seconds.

        Raises: ValueError: another form of URL."""
        self._connect = connector(url)
        self._account = [part for part in (user, password) if part is not None] if password else []
        self._timeout = block + GRACE_PERIOD
        self._socket: socket.socket | None = None
        self.opened = 0
        """How often it was made: more than once, if it was lost in between."""

    def fileno(self) -> int:
        """To poll. Raises: what connecting raises."""
        return (self._socket or self._open()).fileno()

    def post(self, *commands: Command) -> None:
        """Write commands and do not wait. Their replies have to be read, in order.

        Raises: of redis.exceptions: ConnectionError or TimeoutError (what was done is unknown); AuthenticationError."""
        connection = self._socket or self._open()
        try:
            send_all(connection, commands)
        except BaseException as error:
            self._lose(error)

    def close(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None

    def _open(self) -> socket.socket:
        """Raises: ConnectionError, TimeoutError, AuthenticationError, BusyLoadingError."""
        try:
            connection = self._connect()
        except TimeoutError as error:
            raise exceptions.TimeoutError(f"no connection within {CONNECT:.0f} s") from error
        except OSError as error:
            raise exceptions.ConnectionError(f"cannot connect: {error}") from error
        connection.settimeout(None)
        limit = struct.pack("ll", int(self._timeout), int(self._timeout % 1 * 1e6))
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):  # the kernel waits: half the system calls of settimeout
            connection.setsockopt(socket.SOL_SOCKET, option, limit)
        self._socket, self.opened = connection, self.opened + 1
        if self._account:
            self._sign_in(connection)
        return connection

    def _sign_in(self, connection: socket.socket) -> None:
        reply = b""
        try:
            connection.sendall(hiredis.pack_command(("AUTH", *self._account)))  # type: ignore[arg-type]
            while not reply.endswith(b"\r\n"):
                if not (more := connection.recv(4096)):
                    raise ConnectionResetError("Redis closed it")
                reply += more
        except BaseException as error:
            self._lose(error)
        if not reply.startswith(b"+OK"):
            self.close()
            raise error_of(reply[1:-2].decode(errors="replace"))

    def _lose(self, error: BaseException) -> NoReturn:
        """Drop the connection, since an unread reply would answer the next command, and say why."""
        self.close()
        if isinstance(error, BlockingIOError):  # the kernel's word for SO_RCVTIMEO and SO_SNDTIMEO
            raise exceptions.TimeoutError(f"no reply within {self._timeout:.0f} s") from error
        if isinstance(error, OSError):
            raise exceptions.ConnectionError(f"lost the connection: {error}") from error
        raise error


def connector(url: str) -> Callable[[], socket.socket]:
    """Return a function that makes one more connection to a Redis, through the door of a process that has one.

    Raises: ValueError: neither `redis://host:port` nor `unix:///path`."""
    where = urlsplit(url)
    host, port, path = where.hostname, where.port or 6379, where.path
    if where.scheme == "redis" and host and path in ("", "/", "/0"):
        return lambda: door.connect(door.address_of(url)) if door.is_used() else _tcp(host, port)
    if where.scheme == "unix" and path:
        return lambda: door.connect(path) if door.is_used() else _unix(path)
    raise ValueError(f"'{url}' is not an address of the data plane: write redis://host:port or unix:///path")


def _tcp(host: str, port: int) -> socket.socket:
    connection = socket.create_connection((host, port), timeout=CONNECT)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connection


def _unix(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    with contextlib.ExitStack() as undo:
        undo.callback(connection.close)
        connection.settimeout(CONNECT)
        connection.connect(path)
        undo.pop_all()
    return connection


def send_all(connection: socket.socket, commands: tuple[Command, ...]) -> None:
    """Write commands; what stands in memoryviews is not copied on its way to the kernel."""
    pieces: list[bytes | memoryview] = []
    for command in commands:
        _pack(command, pieces)
    first = 0
    while first < len(pieces):
        sent = connection.sendmsg(pieces[first : first + MAX_BUFFERS])
        while first < len(pieces) and sent >= len(pieces[first]):
            sent -= len(pieces[first])
            first += 1
        if sent:
            pieces[first] = memoryview(pieces[first])[sent:]


def _pack(command: Command, pieces: list[bytes | memoryview]) -> None:
    """Append a command as Redis wants it; small neighbours are joined."""
    if not any(type(arg) is memoryview for arg in command):
        packed: bytes = hiredis.pack_command(command)  # type: ignore[arg-type]
        _append(packed, pieces)
        return
    text = b"*%d\r\n" % len(command)
    for arg in command:
        if isinstance(arg, memoryview):
            _append(text + b"$%d\r\n" % arg.nbytes, pieces)
            pieces.append(arg)
            text = b"\r\n"
        else:
            raw = arg if isinstance(arg, bytes) else str(arg).encode()
            text += b"$%d\r\n%b\r\n" % (len(raw), raw)
    _append(text, pieces)


def _append(text: bytes, pieces: list[bytes | memoryview]) -> None:
    if pieces and isinstance(pieces[-1], bytes):
        pieces[-1] += text
    else:
        pieces.append(text)


def error_of(message: str) -> exceptions.RedisError:
    """Return the error that redis-py raises for this reply, so that one way to wait serves both clients."""
    kind, _, rest = message.partition(" ")
    if kind in _MOVED:
        return _MOVED[kind](rest)
    cls = _ERRORS.get(kind, _ERRORS_BY_TEXT.get(message, exceptions.ResponseError))
    return cls(message)

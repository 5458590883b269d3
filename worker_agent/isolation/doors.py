"""The agent's side of doors (`gradstream.sandbox.door`): each job process without a network asks here for its connections to the
data plane and the API, and gets no others."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import structlog
from redis.exceptions import RedisError

from gradstream.errors import GradstreamError
from gradstream.process.order import ProcessOrder
from gradstream.sandbox.door import MAX_BYTES, OPENED, TIMEOUT, address_of
from gradstream.wire.redis import routes
from gradstream.wire.redis.connection import connector

log = structlog.get_logger(__name__)

_AT_ONCE = 4
"""Requests of one process that are answered beside each other; more wait."""


class Doors:
    """One door for each process, as a thread: a process that keeps its door busy holds up no other one."""

    def __init__(self, owner: str) -> None:
        """`owner`: see `orphans.owner_of`. Leftovers of a killed agent under this name are removed."""
        self._folder = Path(_short_folder()) / f"gradstream-doors-{owner[:16]}"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self._folder.chmod(0o711)  # an account of a process finds its own door there, and cannot list the others
        self._doors: dict[UUID, _DoorThread] = {}

    def open(self, order: ProcessOrder) -> str:
        """Returns the path of its socket. Raises: OSError."""
        door = self._doors[order.id] = _DoorThread(order, self._folder / order.id.hex)
        door.start()
        return str(door.path)

    def close(self, id: UUID) -> None:
        if door := self._doors.pop(id, None):
            door.close()

    def close_all(self) -> None:
        for id in list(self._doors):
            self.close(id)
        shutil.rmtree(self._folder, ignore_errors=True)


class _DoorThread(threading.Thread):
    def __init__(self, order: ProcessOrder, path: Path) -> None:
        super().__init__(name="door", daemon=True)
        self.path = path
        self._order = order
        self._known = {address_of(url) for url in (*routes.instances(order.plane.url), order.store.url)}
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        os.chmod(path, 0o666)  # only the process it was made for finds it
        self._socket.listen(64)

    def run(self) -> None:
        free = threading.Semaphore(_AT_ONCE)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="door") as pool:
            while True:
                free.acquire()
                try:
                    caller, _ = self._socket.accept()
                except OSError:
                    return  # closed
                pool.submit(self._answer, caller).add_done_callback(lambda _: free.release())

    def close(self) -> None:
        self.path.unlink(missing_ok=True)
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes up `accept`, which `close` does not
        self._socket.close()

    def _answer(self, caller: socket.socket) -> None:
        with caller:
            caller.settimeout(TIMEOUT)
            try:
                address = caller.recv(MAX_BYTES).decode().strip()
                if not self._leads_to(address):
                    raise ConnectionRefusedError(f"jobs reach the data plane and the API only, and {address[:100]} is neither")
                with connector(_url_of(address))() as connection:
                    socket.send_fds(caller, [OPENED], [connection.fileno()])
            except (OSError, ValueError) as error:
                _tell(caller, str(error))

    def _leads_to(self, address: str) -> bool:
        plane = self._order.plane
        if address not in self._known and routes.is_cluster(plane.url):
            try:
                self._known |= {address_of(url) for _, _, url in routes.slots(plane.url, plane.user, plane.password)}
            except (RedisError, GradstreamError) as error:
                log.warning("the cluster of the data plane does not say where its parts are", why=str(error))
        return address in self._known


def _url_of(address: str) -> str:
    host, _, port = address.rpartition(":")
    return f"unix://{address}" if address.startswith("/") else f"redis://{f'[{host}]' if ':' in host else host}:{port}"


def _tell(caller: socket.socket, why: str) -> None:
    try:
        caller.sendall(why.encode()[:MAX_BYTES])
    except OSError:
        pass  # it has gone


def _short_folder() -> str:
    """A path of a socket has at most 107 bytes."""
    folder = tempfile.gettempdir()
    return folder if len(folder) <= 40 else "/tmp"

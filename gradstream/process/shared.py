"""Folders in shared memory, one for each attempt on this host. Whoever supervises processes makes and removes them.

A folder's owner holds a lock on it for as long as it lives, so what a killed owner left is told from what is in use, and the
next supervisor on this host removes it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

from gradstream.process.order import ProcessOrder, SharedMemory

log = logging.getLogger(__name__)

PLACE = Path("/dev/shm")
_PREFIX = "gradstream-"
_LOCK = "lock"


class SharedFolders:
    def __init__(self, place: Path | None = PLACE) -> None:
        """`place`: a file system in memory; None, or one that is not there: no shared memory is used."""
        self._home: Path | None = None
        if place is None or not place.is_dir():
            return
        _sweep(place)
        name = f"{_PREFIX}{secrets.token_hex(8)}"
        making = place / f".{name}"  # no other owner looks at it before it is locked
        try:
            making.mkdir(mode=0o700)
            self._lock = os.open(making / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._home = making.rename(place / name)
        except OSError as error:
            log.warning("no shared memory in %s, so vectors go through Redis: %s", place, error)
            shutil.rmtree(making, ignore_errors=True)

    def of(self, j: str) -> Path | None:
        """The folder of an attempt, made if need be. None: vectors go through Redis."""
        if self._home is None:
            return None
        folder = self._home / j
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            log.warning("no folder in %s, so vectors go through Redis: %s", self._home, error)
            return None
        return folder

    def told(self, order: ProcessOrder, here: Iterable[ProcessOrder]) -> ProcessOrder:
        """An order, with what its process has to know about shared memory. `here`: all orders of this host."""
        folder = self.of(order.plane_id)
        servers = sorted({other.rank for other in here if other.role == "server" and other.plane_id == order.plane_id})
        return order.model_copy(update={"shared": SharedMemory(folder=str(folder), servers=servers) if folder else None})

    def keep(self, wanted: set[str]) -> None:
        """Remove the folders of all other attempts. Who has mapped a file there keeps its memory."""
        for folder in self._home.iterdir() if self._home else ():
            if folder.name != _LOCK and folder.name not in wanted:
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        if self._home:
            shutil.rmtree(self._home, ignore_errors=True)
            os.close(self._lock)
            self._home = None


def _sweep(place: Path) -> None:
    """Remove what owners left that are dead."""
    for home in place.glob(f"{_PREFIX}*"):
        try:
            handle = os.open(home / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # another user's, or being removed
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(home, ignore_errors=True)
        except OSError:
            continue  # its owner lives
        finally:
            os.close(handle)

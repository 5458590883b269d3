"""Folders in shared memory, one for each attempt on this host. The supervisor of the processes makes and removes them.

A folder's owner holds a lock on it for as long as it lives, so the next supervisor on this host can tell leftovers of a killed
owner from folders in use, and removes them.
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
    def __init__(self, place: Path | None = PLACE, *, for_accounts: bool = False) -> None:
        """`place`: a file system in memory; None, or one that is not there: no shared memory is used. `for_accounts`: the processes
        of an attempt run under accounts of their own, so a folder is open to all who know its name, which only these processes
        receive."""
        self._home: Path | None = None
        self._for_accounts = for_accounts
        self._names = dict[str, str]()
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
        if j not in self._names:
            self._names[j] = f"{j}.{secrets.token_hex(16)}" if self._for_accounts else j
        folder = self._home / self._names[j]
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            if self._for_accounts:
                self._home.chmod(0o711)
                folder.chmod(0o777)
        except OSError as error:
            log.warning("no folder in %s, so vectors go through Redis: %s", self._home, error)
            return None
        return folder

    def told(self, order: ProcessOrder, here: Iterable[ProcessOrder]) -> ProcessOrder:
        """An order, with what its process has to know about shared memory. `here`: all orders of this host."""
        folder = self.of(order.plane_id)
        holders = (other for other in here if other.spec.holds_shard(other.role, other.rank))
        servers = sorted({other.rank for other in holders if other.plane_id == order.plane_id})
        return order.model_copy(update={"shared": SharedMemory(folder=str(folder), servers=servers) if folder else None})

    def keep(self, wanted: set[str]) -> None:
        """Remove the folders of all other attempts. A process that has mapped a file there keeps its memory."""
        self._names = {j: name for j, name in self._names.items() if j in wanted}
        for folder in self._home.iterdir() if self._home else ():
            if folder.name != _LOCK and folder.name not in self._names.values():
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

"""Files on their way into a store, behind the work of the process."""

from __future__ import annotations

import logging
import threading
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from gradstream.errors import Unavailable
from gradstream.process.order import StoreAccess
from gradstream.process.saving.content import Content
from gradstream.process.saving.part import CheckpointPartFiles
from gradstream.process.store import SLOWEST, Store

log = logging.getLogger(__name__)


_PART_TIMEOUT = 2.0
"""Seconds. The commit of a checkpoint may be known a moment before the process that completed it hears so."""


def part_timeout(access: StoreAccess) -> float:
    """Return the seconds that a process waits for the part before until it leaves the next one out. A folder commits no
    checkpoint, so the next may come at any time, and training does not wait."""
    return 0.0 if access.is_folder else _PART_TIMEOUT


class _Stored(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    def put_into(self, store: Store) -> None:
        """Raises: Unavailable."""


@dataclass(frozen=True, slots=True)
class _OneFile:
    name: str
    content: Content

    @property
    def nbytes(self) -> int:
        return self.content.nbytes

    def put_into(self, store: Store) -> None:
        store.put(self.name, self.content)


class Uploads:
    """Puts files into a store, in the order given, from a thread of its own: whoever makes a checkpoint does not wait for it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: deque[tuple[_Stored, bool]] = deque()
        self._parts = 0
        """Parts of checkpoints that are not stored yet."""
        self._waiting = 0
        """Bytes that are not stored yet."""
        self._news = threading.Condition()
        self._closing = False
        self._failed: Unavailable | None = None
        self._thread = threading.Thread(target=self._run, name="uploads", daemon=True)
        self._thread.start()

    def add(self, name: str, content: Content, *, needed: bool = True) -> None:
        """The content must not change any more. If a file that is not needed cannot be stored, that is a warning."""
        self.add_all(_OneFile(name, content), needed=needed)

    def add_all(self, files: _Stored, *, needed: bool) -> None:
        """Add files that go one behind the other, up to the first that cannot be stored."""
        with self._news:
            self._queue.append((files, needed))
            self._parts += isinstance(files, CheckpointPartFiles)
            self._waiting += files.nbytes
            self._news.notify_all()

    def wait_for_part(self, within: float) -> bool:
        """Wait at most so many seconds until this process stores no part of a checkpoint. False: it still does, so the next one
        would make it hold two copies."""
        with self._news:
            return self._news.wait_for(lambda: not self._parts, within)

    def finish(self, within: float = 150.0) -> None:
        """Wait until all is stored: so many seconds, and `SLOWEST` in proportion. Raises: Unavailable, if something that is needed
        could not be."""
        with self._news:
            self._closing = True
            bound = within + self._waiting / SLOWEST
            self._news.notify_all()
        self._thread.join(bound)
        if self._thread.is_alive():
            raise Unavailable(f"{len(self._queue) + 1} files could not be stored within {bound:.0f} s")
        if self._failed:
            raise self._failed

    def _run(self) -> None:
        while self._store_next():
            pass

    def _store_next(self) -> bool:
        """Return False when all is done. Afterwards nothing here holds what was stored, which may be large."""
        with self._news:
            self._news.wait_for(lambda: self._queue or self._closing)
            if not self._queue:
                return False
            files, needed = self._queue.popleft()
            is_part = isinstance(files, CheckpointPartFiles)
        try:
            files.put_into(self._store)
        except Exception as error:  # of this thread nobody else would hear
            log.error("%s is not stored: %s", files.name, error)
            if needed:
                self._failed = Unavailable(f"{files.name} could not be stored: {error}")
        with self._news:
            self._waiting -= files.nbytes
            del files
            self._parts -= is_part
            self._news.notify_all()
        return True

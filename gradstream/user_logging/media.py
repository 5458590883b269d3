"""Media that user code logs, between two reports. The first item of a name counts, and a budget of each name bounds the rate."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from gradstream.errors import InvalidWorkload
from gradstream.user_logging.items import MAX_ITEM_BYTES, LimitExceeded, MediaKind, Snapshot
from gradstream.user_logging.names import MAX_NAMES, check_name

log = logging.getLogger(__name__)

BURST = 100
"""Items of one name that may come at once."""
PER_MINUTE = 60.0
"""Items of one name that come in the long run."""
MAX_UNSENT_BYTES = 128 * 1024**2
"""Bytes of snapshots that may wait for their encoding."""


class Pending(NamedTuple):
    name: str
    kind: MediaKind
    snapshot: Snapshot


class _Budget:
    """The items that one name may still log."""

    __slots__ = ("at", "kind", "left")

    def __init__(self, kind: MediaKind, now: float) -> None:
        self.kind, self.left, self.at = kind, float(BURST), now

    def spend(self, now: float) -> bool:
        """Return whether there is one more, and take it."""
        self.left = min(float(BURST), self.left + (now - self.at) * PER_MINUTE / 60.0)
        self.at = now
        if self.left < 1.0:
            return False
        self.left -= 1.0
        return True


class LoggedMedia:
    """The media of a process that wait for a report. Several threads may add at once. A copy of it, also in another process, begins
    empty."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._pending: list[Pending] = []
        self._names = set[str]()
        """Names that were logged since the last `take`."""
        self._budgets: dict[str, _Budget] = {}
        self._told = set[str]()
        self._unsent_bytes = 0
        """Bytes of all snapshots that were added and not encoded yet."""
        self.enabled = True
        """False: what is added now is left out."""
        self.dropped = 0
        """Items that were dropped so far, because a limit was reached."""

    def __reduce__(self) -> tuple[type[LoggedMedia], tuple[()]]:
        return LoggedMedia, ()  # user code may pickle its workload, and a lock cannot be

    def add(self, name: str, kind: MediaKind, take: Callable[[], Snapshot]) -> None:
        """Add an item. `take` makes its snapshot, unless a limit drops the item before. Raises: InvalidWorkload."""
        with self._lock:
            if not self.enabled or not self._admits(name, kind):
                return
        try:
            snapshot = take()
        except LimitExceeded as error:
            self.drop("size", f"{kind} '{name}': {error}")
            return
        with self._lock:
            if self._unsent_bytes + snapshot.nbytes > MAX_UNSENT_BYTES:
                self._drop("memory", f"{MAX_UNSENT_BYTES >> 20} MiB of media wait to be stored; log less at a time", 1)
                return
            self._unsent_bytes += snapshot.nbytes
            self._pending.append(Pending(name, kind, snapshot))

    def take(self) -> list[Pending]:
        """Return what was added since the last call. Each snapshot is to be given to `encode`."""
        if not self._names:  # without a lock, as this comes after each mini-batch
            return []
        with self._lock:
            taken, self._pending = self._pending, []
            self._names.clear()
        return taken

    def give_away(self) -> list[Pending]:
        """Return what was added since the last call, for `merge` in another process, and forget it."""
        taken = self.take()
        for pending in taken:
            self._release(pending.snapshot)
        return taken

    def merge(self, others: Iterable[Pending]) -> None:
        """Add what another process has taken. Raises: InvalidWorkload."""
        for pending in others:
            self.add(pending.name, pending.kind, partial(_same, pending.snapshot))

    def encode(self, pending: Pending) -> bytes | None:
        """Return the content of an item, whose snapshot takes no memory any more; None: it is too large, and dropped."""
        most = MAX_ITEM_BYTES[pending.kind]
        try:
            content = pending.snapshot.encode()
        finally:
            self._release(pending.snapshot)
        if len(content) <= most:
            return content
        self.drop(
            "size", f"{pending.kind} '{pending.name}' has {len(content):,} bytes, and {most:,} are allowed; log a smaller one"
        )
        return None

    def drop(self, limit: str, why: str, count: int = 1) -> None:
        """Count items that are not kept. The first time for a limit, `why` goes into the log."""
        with self._lock:
            self._drop(limit, why, count)

    def _admits(self, name: str, kind: MediaKind) -> bool:
        """Return whether no limit stands against an item of this name. Raises: InvalidWorkload."""
        if name in self._names:
            return False
        budget = self._budgets.get(name)
        if budget is None:
            check_name(name, f"log_{kind}")
            if len(self._budgets) >= MAX_NAMES:
                self._drop("names", f"media have more than {MAX_NAMES} names; a name with a step in it is a new one each time", 1)
                return False
            budget = self._budgets[name] = _Budget(kind, self._clock())
        if budget.kind != kind:
            raise InvalidWorkload(f"log_{kind}: '{name}' is a {budget.kind} in another call; choose another name for one of them")
        self._names.add(name)
        if not budget.spend(self._clock()):
            self._drop(
                "rate", f"'{name}' was logged more than {BURST} times at once and {PER_MINUTE:g} times a minute; log less often", 1
            )
            return False
        return True

    def _release(self, snapshot: Snapshot) -> None:
        with self._lock:
            self._unsent_bytes -= snapshot.nbytes

    def _drop(self, limit: str, why: str, count: int) -> None:
        self.dropped += count
        if limit not in self._told:
            self._told.add(limit)
            log.warning("logged media are dropped: %s. Training goes on; the metric worker/media_dropped counts them", why)


def _same(snapshot: Snapshot) -> Snapshot:
    return snapshot

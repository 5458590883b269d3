"""Entries from outside of the workers: those that the control plane and evaluators write into the log. Worker 0 reads them.

A thread reads, so that no turn waits for Redis."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from redis import Redis

from gradstream.center.ledger import Account
from gradstream.errors import PlaneLost
from gradstream.process.order import PlaneAccess
from gradstream.shard_server.log_reader import LogReader
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import retry

log = logging.getLogger(__name__)

MOST = 64
"""Entries that one turn takes; the next takes more."""


class OutsideEntries:
    def __init__(
        self,
        access: PlaneAccess,
        j: str,
        settings: ServerSettings,
        redis: Redis,
        on_entry: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_entry`: called in the thread that reads, after each entry."""
        self._reader = LogReader(access, j, 0, settings.read_count)
        self._j, self._redis, self._trim_every = j, redis, settings.trim_every
        self._entries = queue.SimpleQueue[bytes]()
        self._on_entry = on_entry
        self._error: PlaneLost | None = None
        self._lock = threading.Lock()
        self._accounts: dict[int, Account] = {}
        """Those that the reader's next read reports."""
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="outside entries", daemon=True)
        self._thread.start()

    def take(self, seconds: float) -> list[bytes]:
        """Return the packed headers that have come, waiting up to `seconds` for the first. Raises: PlaneLost."""
        self.check()
        found: list[bytes] = []
        try:
            found.append(self._entries.get(timeout=seconds) if seconds else self._entries.get_nowait())
            while len(found) < MOST:
                found.append(self._entries.get_nowait())
        except queue.Empty:
            self.check()
        return found

    def check(self) -> None:
        """Raises: PlaneLost: the attempt is over."""
        if self._error:
            raise PlaneLost(str(self._error)) from self._error

    def note_accounts(self, accounts: dict[int, Account]) -> None:
        """Note accounts of the ledger, which the next read reports."""
        with self._lock:
            self._accounts |= accounts

    def close(self) -> None:
        """Report the last accounts, and read no more."""
        self._closed = True
        with self._lock:
            packed = {rank: account.pack() for rank, account in self._accounts.items()}
        if packed:
            retry(lambda: self._redis.hset(keys.ledger(self._j), mapping=packed), what="telling the ledger")  # type: ignore[arg-type]

    def _run(self) -> None:
        read = 0
        try:
            while not self._closed:
                with self._lock:
                    self._reader.accounts |= self._accounts
                    self._accounts = {}
                for position, header in self._reader.read():
                    self._reader.handled(position)
                    if header:
                        self._entries.put(header.pack())
                        self._on_entry()
                    read += 1
                    if read % self._trim_every == 0:
                        self._trim(position)
        except PlaneLost as error:
            self._error = error
        except Exception as error:
            log.exception("the log cannot be read any more")
            self._error = PlaneLost(f"the log cannot be read: {type(error).__name__}: {error}")

    def _trim(self, position: str) -> None:
        """Drop what lies in this process's memory: no other shard reads the log."""
        retry(lambda: self._redis.xtrim(keys.log(self._j), minid=position, approximate=True), what="trimming the log")

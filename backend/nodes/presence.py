"""Reachability of the API for the nodes. A node's silence counts only while it could: else an API or a database that was
away for ten seconds would look like the loss of every machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import structlog
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from backend.away import MAY_PASS, first_line
from backend.db import Database
from backend.nodes import repository

log = structlog.get_logger(__name__)

EVERY = 1.0
"""Seconds between two stamps of each API process."""
BEHIND = 2.0
"""Seconds after which a heartbeat that has come, and is not stored yet, keeps the API from stamping."""


class Presence:
    """Stamps as long as the API runs, from where heartbeats are heard: its event loop, and then the same threads. So a loop that
    stands still, or threads that are all taken, stamp nothing, and the silence of nodes does not count. Nor does it while a
    heartbeat that has come waits to be stored: that takes more statements than a stamp, so it is late on a busy machine."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._under_way: dict[object, float] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="presence")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=10)

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """While a heartbeat is stored."""
        heartbeat = object()
        self._under_way[heartbeat] = time.monotonic()
        try:
            yield
        finally:
            del self._under_way[heartbeat]

    def _is_behind(self) -> bool:
        return any(time.monotonic() - came > BEHIND for came in self._under_way.values())

    async def _run(self) -> None:
        while True:
            try:
                if not self._is_behind():
                    await run_in_threadpool(self._stamp)
            except MAY_PASS as error:
                log.warning("the database cannot note that the API is there", error=first_line(error))
            except Exception:  # without this task, no node would ever count as lost
                log.exception("it cannot be noted that the API is there; it is tried again")
            await asyncio.sleep(EVERY)

    def _stamp(self) -> None:
        with self._database.transaction() as session:
            repository.stamp(session)


async def heard(request: Request) -> AsyncIterator[None]:
    """A dependency of what stores heartbeats."""
    presence: Presence = request.app.state.presence
    with presence.hearing():
        yield

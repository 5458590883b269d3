"""One subscription to the wake-ups per API process, fanned out to all streams and long polls that wait in it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request

from backend.wakeups.wakeup import Wakeup


class Waiter:
    """Set whenever its job (or any, for None) may have changed."""

    def __init__(self, job_id: UUID | None, loop: asyncio.AbstractEventLoop) -> None:
        self.job_id = job_id
        self._loop = loop
        self._event = asyncio.Event()

    def wake(self) -> None:
        self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, seconds: float) -> None:
        """Return at a wake-up since the last `wait`, or after `seconds`: look into Postgres either way."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return
        finally:
            self._event.clear()


class Hub:
    def __init__(self, wakeup: Wakeup) -> None:
        self._waiters: set[Waiter] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=wakeup.follow, args=(self._stopped, self._wake), name="wake-ups", daemon=True)
        self.closing = False

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Let every stream send its `closing` event and end. Called from the signal handler's side: does not block."""
        self.closing = True
        self._stopped.set()
        self._wake(None)

    def join(self) -> None:
        """Wait for the listening thread after `close`, before its connection is closed."""
        self._thread.join(timeout=10)

    @contextmanager
    def waiter(self, job_id: UUID | None) -> Iterator[Waiter]:
        """Made before the first look into Postgres, so that no change falls between look and wait."""
        waiter = Waiter(job_id, asyncio.get_running_loop())
        with self._lock:
            self._waiters.add(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                self._waiters.discard(waiter)

    def _wake(self, job_id: UUID | None) -> None:
        with self._lock:
            concerned = [w for w in self._waiters if job_id is None or w.job_id in (None, job_id)]
        for waiter in concerned:
            waiter.wake()


def get_hub(request: Request) -> Hub:
    hub: Hub = request.app.state.hub
    return hub


HubDep = Annotated[Hub, Depends(get_hub)]

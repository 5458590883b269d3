"""The list of jobs as streams give it: read once per tick and process, for all streams that follow it.

A `Tick` is what one look into Postgres has found new. A stream that begins, or lags behind too far, gets the list as the next look
finds it, and takes the ticks from there on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

import structlog
from fastapi import Depends, Request
from fastapi.sse import ServerSentEvent
from starlette.concurrency import run_in_threadpool

from backend.away import MAY_PASS, first_line
from backend.jobs.lists.schemas import Gone
from backend.platform import Platform
from backend.stream import service
from backend.stream.service import CLOSING, POLL_INTERVAL, ListLook
from backend.stream.turns import Turns, tick_of
from backend.wakeups.hub import Hub, Waiter

log = structlog.get_logger(__name__)

KEPT = 64
"""Ticks, for streams that lag behind a little."""


@dataclass(frozen=True, slots=True)
class Tick:
    number: int
    upto: int
    """Where a stream that has this tick goes on, should it have to begin again."""
    events: tuple[ServerSentEvent, ...]


@dataclass(eq=False, slots=True)
class _Joining:
    """A stream that waits for its first look."""

    since: int | None
    whole: asyncio.Future[Tick | None]
    """None: there will be no look."""


@dataclass(eq=False, slots=True)
class _Run:
    """As long as a stream follows the list."""

    streams: int = 0
    reader: asyncio.Task[None] | None = None
    waiter: Waiter | None = None
    joining: list[_Joining] = field(default_factory=list)
    joined: asyncio.Event = field(default_factory=asyncio.Event)
    known: dict[UUID, int] = field(default_factory=dict)
    shown: dict[UUID, ServerSentEvent] = field(default_factory=dict)
    gone: set[UUID] = field(default_factory=set)
    upto: int | None = None
    number: int = 0
    ticks: dict[int, Tick] = field(default_factory=dict)
    broken: bool = False
    moved: Turns = field(default_factory=Turns)
    """Told whenever there is a tick, or no more of them."""

    async def begin(self, since: int | None) -> Tick | None:
        """The whole list, as a look that has not begun yet finds it."""
        joining = _Joining(since, asyncio.get_running_loop().create_future())
        self.joining.append(joining)
        self.joined.set()
        if self.waiter is not None:
            self.waiter.wake()
        return await joining.whole

    def add(self, look: ListLook, joining: list[_Joining]) -> None:
        changed = {job.id: ServerSentEvent(event="job", raw_data=job.model_dump_json(by_alias=True)) for job in look.changed}
        events = list(changed.values())
        if not look.gone <= self.gone:
            events.append(_gone(look.gone - self.gone, look.upto))
        self.shown = {id: changed.get(id) or self.shown[id] for id in reversed(look.latest)}
        self.known, self.gone, self.upto = look.latest, look.gone, look.upto
        if events:
            self.number += 1
            self.ticks[self.number] = Tick(self.number, look.upto, tuple(events))
            self.ticks.pop(self.number - KEPT, None)
            self.moved.tell()
        for each in joining:
            whole = (*self.shown.values(), _gone(look.gone_since[each.since], look.upto))
            if not each.whole.done():
                each.whole.set_result(Tick(self.number, look.upto, whole))

    def end(self) -> None:
        for each in self.joining:
            if not each.whole.done():
                each.whole.set_result(None)
        self.moved.tell()


def _gone(ids: set[UUID], upto: int) -> ServerSentEvent:
    return ServerSentEvent(event="gone", raw_data=Gone(ids=sorted(ids), upto=upto).model_dump_json())


class ListFeed:
    def __init__(self, platform: Platform, hub: Hub) -> None:
        self._platform, self._hub = platform, hub
        self._run: _Run | None = None

    async def follow(self, since: int | None) -> AsyncGenerator[ServerSentEvent, None]:
        """The newest jobs as they are, then each of them, and each new one, whenever it changes; and every job that is deleted."""
        with self._joined() as run:
            at: int | None = None
            while not (self._hub.closing or run.broken):
                if at == run.number:
                    await run.moved.wait()
                    continue
                tick = None if at is None else run.ticks.get(at + 1)
                tick = tick or await run.begin(since)
                if tick is None:
                    break
                for event in tick.events:
                    yield event
                at, since = tick.number, tick.upto
        yield CLOSING

    @contextmanager
    def _joined(self) -> Iterator[_Run]:
        run = self._run
        if run is None:
            run = self._run = _Run()
            run.reader = asyncio.create_task(self._read(run), name="list of jobs")
        run.streams += 1
        try:
            yield run
        finally:
            run.streams -= 1
            if not run.streams and run.reader is not None:
                run.reader.cancel()
            if (not run.streams or run.broken) and self._run is run:
                self._run = None

    async def _read(self, run: _Run) -> None:
        """Look until the server stops; cancelled when the last stream has gone."""
        with self._hub.waiter(None) as run.waiter:
            while not self._hub.closing:
                joining, run.joining = run.joining, []
                run.joined.clear()
                sinces = frozenset(each.since for each in joining)
                try:
                    look = await run_in_threadpool(service.look_at_list, self._platform, dict(run.known), run.upto, sinces)
                except MAY_PASS as error:
                    log.warning("streams wait for the database", error=first_line(error))
                    run.joining = joining + run.joining
                    await run.waiter.wait(POLL_INTERVAL)
                    continue
                except Exception:
                    log.exception("the list of jobs cannot be read; its streams have to come back")
                    run.joining = joining + run.joining
                    run.broken = True
                    break
                run.add(look, joining)
                await _pause(run)
        run.end()


async def _pause(run: _Run) -> None:
    """For a tick, unless a stream begins."""
    try:
        async with asyncio.timeout(tick_of(run.streams)):
            await run.joined.wait()
    except TimeoutError:
        if run.waiter is not None:
            await run.waiter.wait(POLL_INTERVAL)


def get_list_feed(request: Request) -> ListFeed:
    feed: ListFeed = request.app.state.list_feed
    return feed


ListFeedDep = Annotated[ListFeed, Depends(get_list_feed)]

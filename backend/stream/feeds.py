"""The feeds of jobs as streams give them: each job is read once per tick, however many streams wait for it.

A `Frame` holds the entries between two numbers of a feed. Streams that have all entries up to its beginning take it as it is. A
stream that comes later or lags behind reads by itself until it reaches the others."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
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
from backend.platform import Platform
from backend.stream import service
from backend.stream.service import CLOSING, POLL_INTERVAL, Frame
from backend.stream.turns import Turns, tick_of
from backend.wakeups.hub import Hub
from gradstream.errors import NotFound

log = structlog.get_logger(__name__)

KEPT = 64
"""Frames, for streams that lag behind a little."""


@dataclass(eq=False, slots=True)
class JobFeed:
    """The feed of one job, as long as a stream waits for it."""

    streams: int = 0
    reader: asyncio.Task[None] | None = None
    head: int | None = None
    """The number up to which frames have been made; None: not begun."""
    frames: OrderedDict[int, Frame] = field(default_factory=OrderedDict)
    """By `after`; each begins where the one before ends, and the last ends at `head`."""
    gone: bool = False
    broken: bool = False
    """It cannot be read. Its streams end, and those that come back begin anew."""
    moved: Turns = field(default_factory=Turns)
    """Told whenever one of these changes."""

    def add(self, frame: Frame) -> None:
        if frame.upto > frame.after:
            self.frames[frame.after] = frame
            self.head = frame.upto
            if len(self.frames) > KEPT:
                self.frames.popitem(last=False)
            self.moved.tell()


class Feeds:
    def __init__(self, platform: Platform, hub: Hub) -> None:
        self._platform, self._hub = platform, hub
        self._feeds: dict[UUID, JobFeed] = {}

    async def follow(self, job_id: UUID, after: int) -> AsyncGenerator[ServerSentEvent, None]:
        """Everything about a job with a number above `after`, and what follows, in the order of the numbers.

        Entries that show a latest state (the job, a process) come once, at their latest number.
        """
        with self._joined(job_id) as feed:
            while not self._hub.closing:
                if feed.broken:
                    break
                if feed.gone:
                    yield ServerSentEvent(event="gone", raw_data=f'{{"id": "{job_id}"}}')
                    return
                if feed.head is None or after >= feed.head:
                    await feed.moved.wait()
                    continue
                frame = feed.frames.get(after) or await self._catch_up(job_id, feed, after, feed.head)
                for event in frame.events:
                    yield event
                after = frame.upto
        yield CLOSING

    @contextmanager
    def _joined(self, job_id: UUID) -> Iterator[JobFeed]:
        feed = self._feeds.get(job_id)
        if feed is None:
            feed = self._feeds[job_id] = JobFeed()
            feed.reader = asyncio.create_task(self._read(job_id, feed), name=f"feed {job_id}")
        feed.streams += 1
        try:
            yield feed
        finally:
            feed.streams -= 1
            if not feed.streams and feed.reader is not None:
                feed.reader.cancel()
            if (not feed.streams or feed.broken) and self._feeds.get(job_id) is feed:
                del self._feeds[job_id]

    async def _catch_up(self, job_id: UUID, feed: JobFeed, after: int, head: int) -> Frame:
        """Return the entries that one stream lacks, as far as one portion goes."""
        while True:
            try:
                return await run_in_threadpool(service.read, self._platform, job_id, after, head)
            except NotFound:
                feed.gone = True
                return Frame(after, after, (), more=False)
            except MAY_PASS as error:
                log.warning("a stream waits for the database", error=first_line(error))
                await _bounded(feed.moved, POLL_INTERVAL)
                if self._hub.closing:
                    return Frame(after, after, (), more=False)

    async def _read(self, job_id: UUID, feed: JobFeed) -> None:
        """Make frames until the server stops; cancelled when the last stream has gone."""
        with self._hub.waiter(job_id) as waiter:
            while not (self._hub.closing or feed.gone):
                more = False
                try:
                    if feed.head is None:
                        feed.head = await run_in_threadpool(service.head, self._platform, job_id)
                        feed.moved.tell()
                    else:
                        frame = await run_in_threadpool(service.read, self._platform, job_id, feed.head, None)
                        more = frame.more
                        feed.add(frame)
                except NotFound:
                    feed.gone = True
                except MAY_PASS as error:
                    log.warning("streams wait for the database", error=first_line(error))
                    await waiter.wait(POLL_INTERVAL)
                    continue
                except Exception:
                    log.exception("a feed cannot be read; its streams have to come back", job=str(job_id))
                    feed.broken = True
                    break
                if not more:
                    await asyncio.sleep(tick_of(feed.streams))
                    await waiter.wait(POLL_INTERVAL)
        feed.moved.tell()


async def _bounded(moved: Turns, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await moved.wait()
    except TimeoutError:
        return


def get_feeds(request: Request) -> Feeds:
    feeds: Feeds = request.app.state.feeds
    return feeds


FeedsDep = Annotated[Feeds, Depends(get_feeds)]

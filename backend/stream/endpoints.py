"""Server-sent events: the only async endpoints. They hold no transaction and no connection while they wait."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from backend.platform import PlatformDep
from backend.schemas import BIGGEST, After
from backend.stream.feeds import FeedsDep
from backend.stream.list_feed import ListFeedDep
from backend.stream.pulse import with_pulse
from backend.stream.signed_in import while_signed_in
from backend.users.auth import CallerDep

router = APIRouter(prefix="/jobs", tags=["streams"])


@router.get("/stream", operation_id="streamJobs", response_class=EventSourceResponse)
async def stream_jobs(
    platform: PlatformDep,
    jobs: ListFeedDep,
    caller: CallerDep,
    since: Annotated[
        int | None,
        Query(ge=0, le=BIGGEST, description="`upto` of the last `gone` event that the client received, at most a day old"),
    ] = None,
) -> AsyncIterator[ServerSentEvent]:
    """Event `job` (JobSummary) for the latest 100 jobs and for older ones that have not ended, then for each of these, and for each
    new one, whenever it changes; `gone` (Gone) for deleted ones, first for those since `since` or of the last minute; `alive`
    after 3 s without another; `closing` when the server stops. A client that reconnects reads the list again: older jobs may have
    ended in between."""
    async for event in while_signed_in(with_pulse(jobs.follow(since)), platform, caller):
        yield event


@router.get("/{id}/stream", operation_id="streamJob", response_class=EventSourceResponse)
async def stream_job(
    id: UUID,
    platform: PlatformDep,
    feeds: FeedsDep,
    caller: CallerDep,
    after: Annotated[After, Query()] = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=BIGGEST, description="Browsers set it when they reconnect")] = None,
) -> AsyncIterator[ServerSentEvent]:
    """Everything about one job: events `job` (Job), `event` (Event), `process` (Process), `metrics` (LiveMetrics) and
    `log` (LogChunk).

    The `id` of each is its place in the job's feed. The stream starts after `Last-Event-ID` or `after`, so a client that
    reconnects misses nothing and gets nothing twice. `alive` comes after 3 s without another event: who hears nothing for
    longer is cut off. `closing` says that the server stops: reconnect.
    """
    events = with_pulse(feeds.follow(id, last_event_id if last_event_id is not None else after))
    async for event in while_signed_in(events, platform, caller):
        yield event

"""The long poll: hold a request until a job changes."""

from __future__ import annotations

import asyncio
from uuid import UUID

from starlette.concurrency import run_in_threadpool

from backend.jobs import service
from backend.platform import Platform
from backend.wakeups.hub import Hub
from gradstream.api.jobs import Job

_POLL_INTERVAL = 2.0
"""Seconds between looks into Postgres, should a wake-up be lost."""


async def changed_job(platform: Platform, hub: Hub, job_id: UUID, *, since: int, seconds: float) -> Job:
    """The job as soon as its `seq` is above `since`, or as it is after `seconds`. No connection is held meanwhile.

    Raises: NotFound.
    """

    def read() -> Job:
        with platform.database.transaction() as session:
            return service.view(service.find(session, job_id))

    end = asyncio.get_running_loop().time() + seconds
    with hub.waiter(job_id) as waiter:
        while True:
            job = await run_in_threadpool(read)
            left = end - asyncio.get_running_loop().time()
            if job.seq > since or left <= 0 or hub.closing:
                return job
            await waiter.wait(min(left, _POLL_INTERVAL))

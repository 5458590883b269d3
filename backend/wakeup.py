"""Wake-ups over the live Redis: whoever changed a job tells everyone who waits for changes.

Only a hint. A lost one costs a moment, never a change: all who listen also look into Postgres from time to time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from uuid import UUID, uuid4

import redis
import structlog

log = structlog.get_logger(__name__)

CHANNEL = "gradstream:jobs"
_PAUSE = 2.0
"""Seconds without sending after a failure, so that a frozen Redis does not slow down every request."""


class Wakeup:
    def __init__(self, live: redis.Redis) -> None:
        self._live = live
        self._origin = uuid4().hex
        self._silent_until = 0.0

    def send(self, job_id: UUID) -> None:
        """Say that this job has changed; after the commit."""
        if time.monotonic() < self._silent_until:
            return
        try:
            self._live.publish(CHANNEL, f"{self._origin} {job_id}")
        except redis.RedisError as error:
            self._silent_until = time.monotonic() + _PAUSE
            log.warning("could not send a wake-up; listeners notice by themselves", error=str(error))

    def listen(self, timeout: float, *, own: bool = True) -> Iterator[UUID | None]:
        """Job ids as they come; None at the start and after at most `timeout` seconds without one.

        `own`: also those that this process has sent. Raises: redis.RedisError when the connection is lost.
        """
        with self._live.pubsub(ignore_subscribe_messages=True) as subscription:  # type: ignore[no-untyped-call]
            subscription.subscribe(CHANNEL)
            while True:
                message = subscription.get_message(timeout=timeout)
                if message is None:
                    yield None
                    continue
                origin, job_id = _read(message["data"])
                if job_id and (own or origin != self._origin):
                    yield job_id

    def close(self) -> None:
        self._live.close()


def _read(data: bytes) -> tuple[str, UUID | None]:
    """Who has sent a wake-up, and for which job; what stands behind is for others. None: it is no wake-up."""
    try:
        origin, job_id, *_ = data.decode().split(" ")
        return origin, UUID(job_id)
    except ValueError:
        log.warning("something that is no wake-up came over their channel; it is ignored", bytes=len(data))
        return "", None

"""Wake-ups over the live Redis: whoever changed a job tells everyone who waits for changes.

Only a hint. A lost one costs a moment, never a change: all who listen also look into Postgres from time to time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from uuid import UUID, uuid4

import redis
import structlog

from gradstream.log_limit import LogLimit

log = structlog.get_logger(__name__)

CHANNEL = "gradstream:jobs"
_PAUSE = 2.0
"""Seconds without sending after a failure, so that a frozen Redis does not slow down every request."""
_LOOK = 0.25
"""Seconds after which a thread that follows looks whether it should end."""
_AGAIN = 1.0
"""Seconds before it listens again after a failure."""


class Wakeup:
    def __init__(self, live: redis.Redis) -> None:
        self._live = live
        self._origin = uuid4().hex
        self._silent_until = 0.0
        self._limit = LogLimit()

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
                origin, job_id = self._read(message["data"])
                if job_id and (own or origin != self._origin):
                    yield job_id

    def follow(self, stopped: threading.Event, heard: Callable[[UUID], None], *, own: bool = True) -> None:
        """Call `heard` with each job that has changed, until `stopped`. Whatever fails meanwhile, it goes on listening."""
        while not stopped.is_set():
            try:
                for job_id in self.listen(_LOOK, own=own):
                    if stopped.is_set():
                        return
                    if job_id is not None:
                        heard(job_id)
            except redis.RedisError as error:
                log.warning("no wake-ups; changes are noticed by looking now and then", error=str(error))
            except Exception as error:  # a thread that ended here would be missed by nobody, and everything would be slow
                if self._limit.take(type(error).__name__) is not None:
                    log.error("listening for wake-ups failed; it begins again", exc_info=error)
            stopped.wait(_AGAIN)

    def close(self) -> None:
        self._live.close()

    def _read(self, data: object) -> tuple[str, UUID | None]:
        """Who has sent a wake-up, and for which job; what stands behind is for others. None: it is no wake-up."""
        try:
            origin, job_id, *_ = str(data, "utf-8").split(" ") if isinstance(data, bytes) else [""]
            return origin, UUID(job_id)
        except ValueError:
            held_back = self._limit.take("junk")
            if held_back is not None:
                log.warning("something that is no wake-up came over their channel; it is ignored", lines_held_back=held_back)
            return "", None

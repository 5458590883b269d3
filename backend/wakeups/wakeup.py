"""Wake-ups over the live Redis: a process that has changed a job tells all that wait for changes.

A wake-up is only a hint. A lost one costs a moment, never a change: all listeners also look into Postgres from time to time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from uuid import UUID, uuid4

import redis
import structlog

from gradstream.programs.log_limit import LogLimit

log = structlog.get_logger(__name__)

CHANNEL = "gradstream:jobs"
_RETRY_INTERVAL = 2.0
"""Seconds without sending after a failure, so that a frozen Redis does not slow down every request."""
_POLL_INTERVAL = 0.25
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
            self._silent_until = time.monotonic() + _RETRY_INTERVAL
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
        """Call `heard` with each job that has changed, until `stopped`. It keeps listening after any error."""
        while not stopped.is_set():
            try:
                for job_id in self.listen(_POLL_INTERVAL, own=own):
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
        """Return the sender of a wake-up and its job; text behind those is for others. None: it is no wake-up."""
        try:
            origin, job_id, *_ = str(data, "utf-8").split(" ") if isinstance(data, bytes) else [""]
            return origin, UUID(job_id)
        except ValueError:
            held_back = self._limit.take("junk")
            if held_back is not None:
                log.warning("a message on the channel of wake-ups is not one; it is ignored", lines_held_back=held_back)
            return "", None

"""The one place where Redis clients are made, and the one way to wait for a Redis that is away.

redis-py repeats writes by itself by default, so that one `xadd` can store two entries, and cuts a long block short. Here it
never repeats: we do, where a repeat is harmless, and say so.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from typing import Any, TypeVar

from redis import Connection as RedisConnection
from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,
    NoPermissionError,
    OutOfMemoryError,
    TimeoutError,
    TryAgainError,
)
from redis.retry import Retry

from gradstream.errors import PlaneLost
from gradstream.sandbox import door
from gradstream.wire.redis.connection import connector

log = logging.getLogger(__name__)
T = TypeVar("T")

BLOCK = 1.0
"""Seconds that a read waits for news before its caller looks around."""
AWAY = (ConnectionError, TimeoutError, BusyLoadingError, OutOfMemoryError, ClusterDownError, TryAgainError)
"""It may come back (or be emptied): worth waiting for. AuthenticationError is a ConnectionError, but is no such case."""


def connect(url: str, *, user: str | None = None, password: str | None = None, block: float = BLOCK) -> Redis:
    """A client for `redis://host:port` or `unix:///path`; no connection is made yet. `block`: longest blocking read, seconds."""
    if door.is_used():
        make = connector(url)
        return Redis.from_pool(ConnectionPool(connection_class=_ByDoor, make=make, **options(user, password, block)))
    return Redis.from_url(url, **options(user, password, block))


class _ByDoor(RedisConnection):
    """A connection of redis-py over a socket that comes through the process's door."""

    def __init__(self, make: Callable[[], socket.socket], **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self._make = make

    def _connect(self) -> socket.socket:
        connection = self._make()
        connection.settimeout(self.socket_timeout)
        return connection


CONTROL_PLANE = "gradstream"
"""Name of the connections of the control plane, which has no account of its own at the data plane."""


def options(user: str | None, password: str | None, block: float = BLOCK) -> dict[str, Any]:
    return {
        "client_name": None if user else CONTROL_PLANE,
        "username": user,
        "password": password,
        "socket_connect_timeout": 2,
        "socket_timeout": block + 5,
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 10,
    }


def retry(operation: Callable[[], T], *, what: str, bound: float = 120.0) -> T:
    """The result of `operation`, which is repeated as long as Redis is away or full: it must be harmless to repeat.

    Raises: PlaneLost, when Redis refuses this attempt's account (it was closed, or Redis lost it), when a cluster has moved
    what is asked for, or after `bound` seconds."""
    pause, since = 0.05, 0.0
    while True:
        try:
            result = operation()
        except (AuthenticationError, NoPermissionError) as error:
            raise PlaneLost(f"{what}: Redis does not know this attempt any more ({error})") from error
        except AskError as error:  # also MOVED
            raise PlaneLost(f"{what}: the cluster has moved it to another node ({error})") from error
        except AWAY as error:
            now = time.monotonic()
            if not since:
                since = now
                log.warning("%s: Redis is away (%s); waiting up to %.0f s", what, error, bound)
            if now - since > bound:
                raise PlaneLost(f"{what}: Redis was away for more than {bound:.0f} s ({error})") from error
            time.sleep(pause)
            pause = min(pause * 2, 1.0)
            continue
        if since:
            log.warning("%s: Redis is back after %.1f s", what, time.monotonic() - since)
        return result

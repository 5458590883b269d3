"""A connection to the user's Redis: ranges of a stream together with its counts, and a bounded wait where it is away."""

from __future__ import annotations

import logging
import time
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    RedisError,
    ResponseError,
    TimeoutError,
    TryAgainError,
)
from redis.retry import Retry

from gradstream.data.redis_stream.name import StreamEntry, StreamName
from gradstream.errors import InvalidWorkload, Unavailable
from gradstream.sandbox import door

CONNECT_TIMEOUT, READ_TIMEOUT = 2.0, 5.0
"""Seconds."""
FIRST_REPLY_TIMEOUT, AWAY_TIMEOUT = 30.0, 600.0
"""Seconds for which a Redis may be away: before its first reply, and after it."""
_RETRY_INTERVAL = 2.0
"""Seconds between two attempts to reach a Redis that is away."""
_NOTED_AFTER = 10.0
"""Seconds after which a Redis that is away is out of reach: one that restarts is back before."""
_AWAY = (ConnectionError, TimeoutError, BusyLoadingError, ClusterDownError, MasterDownError, TryAgainError)
_EMPTY = {"entries-added": 0, "length": 0, "max-deleted-entry-id": b"0-0", "first-entry": None}

log = logging.getLogger(__name__)


class StreamRange(NamedTuple):
    """Some entries, and the counts of the stream at the same moment."""

    added: int
    """Entries that were ever added."""
    first: int
    """The number of the first one that is left; of the next one, if none is."""
    found: list[StreamEntry]


class RedisAway(Unavailable):
    """Redis does not answer, or not yet. It may come back."""


class StreamConnection:
    """Not safe for threads. No connection is made before the first read."""

    def __init__(self, url: str, key: str) -> None:
        """Raises: InvalidWorkload: it is no URL of Redis."""
        self._redis, self._key = _client(url), key
        self.stream = StreamName(key, _address(self._redis))
        self.added: int | None = None
        """Entries that were ever added, as last seen; None: Redis has not answered yet."""
        self.looked = self._tried = float("-inf")
        """When Redis answered last, and was asked last."""
        self._away_since: float | None = None
        self._noted = False

    @property
    def is_unreachable(self) -> bool:
        """Redis has been away for more than some seconds."""
        return self._away_since is not None and time.monotonic() > self._away_since + _NOTED_AFTER

    def may_look(self, due: float) -> bool:
        """Return whether that time has come. A Redis that is away is tried less often."""
        return time.monotonic() >= (due if self._away_since is None else self._tried + _RETRY_INTERVAL)

    def look(self, command: str, begin: str | bytes, end: str | bytes, count: int) -> StreamRange:
        """Return a range of entries. `command`: XRANGE, XREVRANGE. Raises: RedisAway. InvalidWorkload: it has been away for too
        long; it refuses; entries have no numbers."""
        self._tried = time.monotonic()
        try:
            info, found = self._asked(command, begin, end, count)
        except _AWAY as error:
            if isinstance(error, AuthenticationError):
                self._refuse(error)
            self._wait(error)
        self.looked = time.monotonic()
        if self._away_since is not None:
            log.warning("%s answers again after %.0f s", self.stream.address, self.looked - self._away_since)
            self._away_since = None
        return self._counted(info, found)

    def trim(self, before: bytes) -> int:
        """Remove the entries before this id, and return how many. Raises: InvalidWorkload: Redis refuses. RedisAway."""
        try:
            return int(self._redis.xtrim(self._key, minid=before.decode(), approximate=False))
        except _AWAY as error:
            self._wait(error)
        except ResponseError as error:
            self._refuse(error)

    def _asked(self, command: str, begin: str | bytes, end: str | bytes, count: int) -> tuple[dict[str, Any], list[Any]]:
        """Raises: InvalidWorkload. redis.exceptions of `_AWAY`."""
        pipe = self._redis.pipeline(transaction=True)
        pipe.xinfo_stream(self._key)
        pipe.execute_command(command, self._key, begin, end, "COUNT", count)  # type: ignore[no-untyped-call]
        try:
            info, found = pipe.execute(raise_on_error=False)
            if isinstance(info, RedisError):
                raise info
        except ResponseError as error:
            if isinstance(error, _AWAY):
                raise
            if "no such key" not in str(error):
                self._refuse(error)
            return _EMPTY, []
        return info, found

    def _counted(self, info: dict[str, Any], found: list[Any]) -> StreamRange:
        """Raises: InvalidWorkload: entries have no numbers."""
        if "entries-added" not in info:
            raise InvalidWorkload(f"{self.stream}: this server does not count entries; use Redis 7 or later, or Valkey")
        added, first = int(info["entries-added"]), info["first-entry"]
        if first is not None and _in_order(info["max-deleted-entry-id"]) > _in_order(first[0]):
            raise self.stream.uncountable()
        if not added and not self._noted:
            self._noted = True
            log.warning("%s is empty or not there; it is waited for", self.stream)
        self.added = added
        return StreamRange(added, added - int(info["length"]), [StreamEntry(*entry) for entry in found])

    def _wait(self, error: RedisError) -> NoReturn:
        """Note that Redis is away. Raises: RedisAway. InvalidWorkload: it has been so for too long."""
        now, timeout = time.monotonic(), FIRST_REPLY_TIMEOUT if self.added is None else AWAY_TIMEOUT
        if self._away_since is None:
            self._away_since = now
            log.warning("%s cannot be reached (%s); it is waited for up to %.0f s", self.stream.address, error, timeout)
        if now - self._away_since <= timeout:
            raise RedisAway(f"{self.stream} cannot be reached: {error}") from error
        hint = " A job with network: platform reaches the platform only." if door.is_used() else ""
        raise InvalidWorkload(
            f"{self.stream} could not be reached for {timeout:.0f} s ({error}). Each node that runs workers must reach this "
            f"address.{hint}"
        ) from error

    def _refuse(self, error: RedisError) -> NoReturn:
        """Raises: InvalidWorkload."""
        if isinstance(error, MovedError | AskError):
            raise InvalidWorkload(
                f"{self.stream} lies on another node of a cluster. Redirects are not followed: name the node that has this key"
            ) from error
        if isinstance(error, NoPermissionError):
            needed = "+xinfo|stream +xrange +xrevrange +multi +exec, and %R~ with the key; +xtrim and %W~ to trim"
            raise InvalidWorkload(f"{self.stream}: the account may not do this ({error}). It needs {needed}") from error
        if isinstance(error, AuthenticationError):
            raise InvalidWorkload(f"{self.stream.address} refuses the account ({error}); correct it in the URL") from error
        if "WRONGTYPE" in str(error):
            raise InvalidWorkload(f"the key '{self._key}' at {self.stream.address} is not a stream; name one") from error
        raise InvalidWorkload(f"{self.stream} cannot be read: {error}") from error


def _in_order(id: bytes) -> tuple[int, int]:
    begin, _, rest = id.partition(b"-")
    return int(begin), int(rest)


def _client(url: str) -> redis.Redis:
    """Raises: InvalidWorkload, which does not show the URL: it may hold a password."""
    try:
        client = redis.Redis.from_url(
            url,
            socket_connect_timeout=CONNECT_TIMEOUT,
            socket_timeout=READ_TIMEOUT,
            retry=Retry(NoBackoff(), 0),
        )
    except (ValueError, TypeError, AttributeError):
        raise InvalidWorkload(
            "the url of redis_stream is none of redis://user:password@host:6379/0, rediss://... and unix:///path; write @, / and : "
            "of a password as %40, %2F and %3A"
        ) from None
    for command in ("XRANGE", "XREVRANGE"):
        client.set_response_callback(command, lambda reply, **_: reply)  # as it comes: redis-py would make dicts, 5 times as slowly
    return client


def _address(client: redis.Redis) -> str:
    """Return the URL without account."""
    given = client.connection_pool.connection_kwargs
    if "path" in given:
        return f"unix://{quote(given['path'])}"
    scheme = "rediss" if issubclass(client.connection_pool.connection_class, redis.SSLConnection) else "redis"
    return f"{scheme}://{given.get('host', 'localhost')}:{given.get('port', 6379)}/{given.get('db', 0)}"

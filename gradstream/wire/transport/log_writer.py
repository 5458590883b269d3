"""The writing of one process's entries into the log of its attempt, one at a time."""

from __future__ import annotations

from typing import Any

from redis.exceptions import RedisError

from gradstream.errors import PlaneLost
from gradstream.process.order import PlaneAccess
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import BLOCK, retry
from gradstream.wire.redis.resp import Command, Resp
from gradstream.wire.redis.tail import check_written
from gradstream.wire.transport.messages import FIELD


class LogWriter:
    def __init__(self, access: PlaneAccess, j: str) -> None:
        self._key = keys.log(j)
        self._redis = Resp(access.url, user=access.user, password=access.password, block=BLOCK)
        self._posted: Command | None = None
        """The entry sent last, until Redis has confirmed it."""
        self._written = ""
        """The id of the last entry that Redis has confirmed."""
        self._is_posted = False
        """True if the reply to that entry is still to come on its connection."""

    def post(self, packed: bytes) -> None:
        """Send a packed header without waiting for the reply; the entry before it must be confirmed."""
        self._posted = ("XADD", self._key, "NOMKSTREAM", "*", FIELD, packed)
        try:
            self._redis.post(self._posted)
            self._is_posted = True
        except RedisError:
            pass  # `confirm` repeats it

    def confirm(self) -> None:
        """Make sure that the entry sent last is in the log; to write it twice does no harm. Raises: PlaneLost."""
        if self._posted is not None:
            reply = retry(self._reply_to_posted, what="writing to the log")
            self._posted = None
            if reply is None:
                raise PlaneLost("the log of this attempt is gone")
            self._written = reply.decode()

    def check_last(self) -> None:
        """Raises: PlaneLost: the log does not hold the last confirmed entry any more."""
        if self._written:
            retry(lambda: check_written(self._redis, self._key, self._written), what="looking for the last entry")

    def _reply_to_posted(self) -> Any:
        assert self._posted is not None
        is_posted, self._is_posted = self._is_posted, False
        [reply] = self._redis.results(1) if is_posted else self._redis.ask(self._posted)
        return reply

"""Incarnations of workers on other hosts, as a shard sees them: vectors through Redis, by the inline transport."""

from __future__ import annotations

import select
import time
from collections.abc import Callable

from redis import exceptions
from torch import Tensor

from gradstream.errors import PlaneLost
from gradstream.wire.redis import keys
from gradstream.wire.redis.bulk import BulkConnection
from gradstream.wire.redis.client import BLOCK, retry
from gradstream.wire.redis.connection import GRACE_PERIOD
from gradstream.wire.redis.resp import Resp
from gradstream.wire.redis.routes import Routes
from gradstream.wire.transport.inbox import Decode, Inbox
from gradstream.wire.transport.layout import Coded
from gradstream.wire.transport.messages import Part
from gradstream.wire.transport.outbox import Outbox, Outgoing

_LONGEST = 1 << 34
"""Bytes of a slice that arrives before its header."""
_SLOWEST = 1 << 20
"""Bytes per second of the slowest resend."""


class RemoteWorkers:
    def __init__(self, routes: Routes, j: str, shard: int, timeout: float, decoding: Decode) -> None:
        """`timeout`: seconds that the resend of a damaged vector may take. `decoding`: of what arrives."""
        access = routes.shard(shard)
        self._j, self._shard, self._timeout = j, shard, timeout
        self._redis = Resp(access.url, user=access.user, password=access.password, block=BLOCK)
        self._outbox = Outbox(self._redis)
        self._inbox = Inbox(BulkConnection(access.url, user=access.user, password=access.password, block=BLOCK), _LONGEST, decoding)

    def watch_incarnation(self, incarnation: tuple[int, int]) -> None:
        """Take in the vectors of an incarnation as they arrive, from now on."""
        self._inbox.watch(keys.payload(self._j, self._shard, *incarnation))

    def drop_incarnation(self, incarnation: tuple[int, int]) -> None:
        """Drop an incarnation, which writes nothing any more."""
        self.forget_incarnation(incarnation)
        self.unlink(keys.payload(self._j, self._shard, *incarnation))

    def forget_incarnation(self, incarnation: tuple[int, int]) -> None:
        """Take in nothing more of an incarnation, and leave the memory of its last vector alone."""
        self._inbox.unwatch(keys.payload(self._j, self._shard, *incarnation))

    def fetch(
        self, incarnation: tuple[int, int], seq: int, part: Part, request_resend: Callable[[], None]
    ) -> tuple[memoryview, Tensor | None]:
        """This shard's slice of a vector, freed in Redis, and decoded if it is to be. It is valid until the next one of this
        incarnation is fetched.

        Raises: PlaneLost, if it is damaged and no good resend comes in time."""
        key = keys.payload(self._j, self._shard, *incarnation)
        deadline, requests, taken = time.monotonic() + self._timeout + part.nbytes / _SLOWEST, 0, -1
        while True:
            found = retry(lambda: self._inbox.vector(key, seq, part.nbytes, part.checksum), what="reading an update")
            if found is not None:
                return found, self._inbox.decoded(key)
            if time.monotonic() > deadline:
                raise PlaneLost(f"the update {incarnation[0]}.{incarnation[1]}:{seq} is damaged, and no good resend came")
            taken, before = self._inbox.taken, taken
            if not requests or taken == before:  # else it is on its way
                request_resend()
                requests += 1
            time.sleep(min(0.05 * 2**requests, 2.0))  # the worker resends parts, which nothing announces

    def write(self, centers: list[tuple[str, Coded]]) -> None:
        """Write slices of the center; their readers may have begun to wait for them. Raises: PlaneLost."""
        self._outbox.finish([Outgoing(keys.center(self._j, self._shard, where), 0, *coded) for where, coded in centers])

    def unlink(self, key: str) -> None:
        retry(lambda: self._redis.ask(("UNLINK", key)), what="freeing memory")

    def take_in(self, until: Resp) -> None:
        """Take in what arrives, until a reply comes to what was posted to `until`. Raises: as `Resp.ask`, but only for `until`."""
        if not self._inbox.watches:
            return
        try:
            while True:
                self._inbox.arm()
                waits = select.poll()
                for one in (until, self._inbox):
                    waits.register(one, select.POLLIN)
                ready = {number for number, _ in waits.poll(1000 * (BLOCK + GRACE_PERIOD))}
                if not ready or until.fileno() in ready:
                    return
                self._inbox.take()
        except exceptions.RedisError:
            return  # who waits for a vector finds out

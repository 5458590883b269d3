"""Lives of workers on other hosts, as a shard sees them: vectors through Redis, by the inline transport."""

from __future__ import annotations

import select
import time
from collections.abc import Callable

from redis import exceptions
from torch import Tensor

from gradstream.errors import PlaneLost
from gradstream.wire import keys
from gradstream.wire.bulk import Bulk
from gradstream.wire.client import BLOCK, patiently
from gradstream.wire.connection import GRACE
from gradstream.wire.inbox import Decode, Inbox
from gradstream.wire.layout import Coded
from gradstream.wire.messages import Part
from gradstream.wire.outbox import Outbox, Outgoing
from gradstream.wire.resp import Resp
from gradstream.wire.routes import Routes

_LONGEST = 1 << 34
"""Bytes of a slice that arrives before its header."""
_SLOWEST = 1 << 20
"""Bytes per second at which one comes again at least."""


class Far:
    def __init__(self, routes: Routes, j: str, shard: int, patience: float, decoding: Decode) -> None:
        """`patience`: seconds that a damaged vector may take to come again. `decoding`: of what arrives."""
        access = routes.shard(shard)
        self._j, self._shard, self._patience = j, shard, patience
        self._redis = Resp(access.url, user=access.user, password=access.password, block=BLOCK)
        self._outbox = Outbox(self._redis)
        self._inbox = Inbox(Bulk(access.url, user=access.user, password=access.password, block=BLOCK), _LONGEST, decoding)

    def joined(self, life: tuple[int, int]) -> None:
        """From now on its vectors are taken in as they arrive."""
        self._inbox.watch(keys.payload(self._j, self._shard, *life))

    def gone(self, life: tuple[int, int]) -> None:
        """It writes nothing any more."""
        self.forget(life)
        self.unlink(keys.payload(self._j, self._shard, *life))

    def forget(self, life: tuple[int, int]) -> None:
        """Nothing of it is taken in any more, and the memory of its last vector is not used again."""
        self._inbox.unwatch(keys.payload(self._j, self._shard, *life))

    def fetch(self, life: tuple[int, int], seq: int, part: Part, ask_again: Callable[[], None]) -> tuple[bytearray, Tensor | None]:
        """This shard's slice of a vector, freed in Redis, and decoded if it is to be. It is valid until the next one of this life
        is fetched.

        Raises: PlaneLost, if it is damaged and does not come again in time."""
        key = keys.payload(self._j, self._shard, *life)
        deadline, asked, taken = time.monotonic() + self._patience + part.nbytes / _SLOWEST, 0, -1
        while True:
            found = patiently(lambda: self._inbox.vector(key, seq, part.nbytes, part.checksum), what="reading an update")
            if found is not None:
                return found, self._inbox.decoded(key)
            if time.monotonic() > deadline:
                raise PlaneLost(f"the update {life[0]}.{life[1]}:{seq} is damaged, and did not come again")
            taken, before = self._inbox.taken, taken
            if not asked or taken == before:  # else it is on its way
                ask_again()
                asked += 1
            time.sleep(min(0.05 * 2**asked, 2.0))  # the worker's answer to this is more parts, which nothing announces

    def write(self, centers: list[tuple[str, Coded]]) -> None:
        """Write slices of the center; their readers may have begun to wait for them. Raises: PlaneLost."""
        self._outbox.finish([Outgoing(keys.center(self._j, self._shard, where), 0, *coded) for where, coded in centers])

    def unlink(self, key: str) -> None:
        patiently(lambda: self._redis.ask(("UNLINK", key)), what="freeing memory")

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
                ready = {number for number, _ in waits.poll(1000 * (BLOCK + GRACE))}
                if not ready or until.fileno() in ready:
                    return
                self._inbox.take()
        except exceptions.RedisError:
            return  # who waits for a vector finds out

"""A worker's vectors to and from shards on other hosts: through Redis, by the inline transport."""

from __future__ import annotations

from collections.abc import Callable

from gradstream.codecs.coding import Decoding
from gradstream.wire import keys
from gradstream.wire.bulk import Bulk
from gradstream.wire.checksum import PART
from gradstream.wire.client import BLOCK, patiently
from gradstream.wire.inbox import Reading
from gradstream.wire.layout import Coded
from gradstream.wire.messages import Part
from gradstream.wire.outbox import Outbox, Outgoing
from gradstream.wire.resp import Resp
from gradstream.wire.routes import Routes

DAMAGED = 2
"""Looks at a center that is there, but damaged: once it may have been so only on the way."""
QUIET = 20
"""Looks in a row, about a second each, at a center of which no more has come."""


class Far:
    def __init__(self, routes: Routes, j: str, rank: int, incarnation: int) -> None:
        """Connects to what it needs, when it needs it."""
        self._routes, self._j, self._life = routes, j, (rank, incarnation)
        self._outboxes: dict[str, Outbox] = {}
        self._readers: dict[str, Bulk] = {}
        self._sent: dict[int, Outgoing] = {}
        self.on_damage: Callable[[], None] = lambda: None
        """Told when a center is read once more, since some of it came damaged."""

    def send(self, seq: int, slices: dict[int, Coded]) -> dict[int, Part]:
        """Send these shards their slices of one vector. When it returns, all of them lie there whole. Raises: PlaneLost.

        They must not change before the answer has come: a shard may ask for one again."""
        self._sent = {k: self._outgoing(k, seq, coded) for k, coded in slices.items()}
        for index in range(max((len(vector.sums) for vector in self._sent.values()), default=0)):
            for shard, vector in self._sent.items():  # in turn, so that all of them can begin to read
                if index < len(vector.sums) and vector.sums[index] < 0:
                    self._outbox(shard).put(vector, index)
        for shard, vector in self._sent.items():
            self._outbox(shard).finish([vector])
        return {k: Part(len(vector.data), vector.checksum) for k, vector in self._sent.items()}

    def drop(self) -> None:
        """What went ahead is not what will be sent."""
        self._sent = {}

    def flow(self, shard: int, seq: int, data: memoryview, start: int) -> None:
        """Of the slice that `send` will be given for this seq, the bytes from `start` on are final: let them go."""
        vector = self._sent[shard] = self._outgoing(shard, seq, Coded(data))
        for index in range(-(-start // PART), len(vector.sums)):
            if vector.sums[index] < 0:
                self._outbox(shard).put(vector, index)

    def send_again(self, shard: int, seq: int) -> None:
        """A shard has found a slice damaged, or some of it missing. Nothing, if the vector is not the last. Raises: PlaneLost."""
        sent = self._sent.get(shard)
        if sent and sent.seq == seq:
            self._outbox(shard).finish([Outgoing(sent.key, seq, sent.data)])

    def fetch(self, shard: int, where: str, place: memoryview, decoding: Decoding | None = None) -> bool:
        """Read a slice of the center into `place`, also while it is being written, and decode what is there. False: it is damaged
        where it lies, or does not come. Raises: PlaneLost."""
        reading = Reading(self._reader(shard), keys.center(self._j, shard, where), place, decoding)
        damaged = quiet = 0
        while damaged < DAMAGED and quiet < QUIET:
            missing = reading.vector.missing
            if patiently(reading.read, what="reading the center"):
                return True
            if reading.look_again():
                damaged += 1
                self.on_damage()
            quiet = quiet + 1 if reading.vector.missing == missing else 0
        return False

    def _outgoing(self, shard: int, seq: int, coded: Coded) -> Outgoing:
        """The one of which some has gone ahead, if there is one."""
        flowing = self._sent.get(shard)
        if flowing and flowing.seq == seq:
            return flowing
        return Outgoing(keys.payload(self._j, shard, *self._life), seq, *coded)

    def _outbox(self, shard: int) -> Outbox:
        access = self._routes.shard(shard)
        if access.url not in self._outboxes:
            redis = Resp(access.url, user=access.user, password=access.password, block=BLOCK)
            self._outboxes[access.url] = Outbox(redis)
        return self._outboxes[access.url]

    def _reader(self, shard: int) -> Bulk:
        access = self._routes.shard(shard)
        if access.url not in self._readers:
            self._readers[access.url] = Bulk(access.url, user=access.user, password=access.password, block=BLOCK)
        return self._readers[access.url]

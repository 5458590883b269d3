"""A worker's vectors to and from shards on remote hosts: through Redis, by the inline transport."""

from __future__ import annotations

from gradstream.codecs.coding import Decoding
from gradstream.wire.redis import keys
from gradstream.wire.redis.bulk import BulkConnection
from gradstream.wire.redis.client import BLOCK, retry
from gradstream.wire.redis.resp import Resp
from gradstream.wire.redis.routes import Routes
from gradstream.wire.transport.checksum import PART
from gradstream.wire.transport.inbox import StreamedVector
from gradstream.wire.transport.layout import Coded
from gradstream.wire.transport.messages import Part
from gradstream.wire.transport.outbox import Outbox, Outgoing
from gradstream.wire.transport.retransmissions import Retransmissions

DAMAGED = 2
"""Attempts to read a complete but damaged center: the first time, it may have been damaged only on the way."""
QUIET = 20
"""Attempts in a row, about a second each, in which no more of a center arrives."""


class RemoteServers:
    def __init__(self, routes: Routes, j: str, rank: int, incarnation: int, retransmissions: Retransmissions) -> None:
        """Connects to each Redis when it first needs it."""
        self._routes, self._j, self._incarnation = routes, j, (rank, incarnation)
        self._outboxes: dict[str, Outbox] = {}
        self._readers: dict[str, BulkConnection] = {}
        self._sent: dict[int, Outgoing] = {}
        self._retransmissions = retransmissions
        """Counts also the centers that are read once more, since some of them came damaged."""

    def send(self, seq: int, slices: dict[int, Coded]) -> dict[int, Part]:
        """Send these shards their slices of one vector. When it returns, Redis holds all of them whole. Raises: PlaneLost.

        The slices must not change before the response has come: a shard may request a resend."""
        self._sent = {k: self._outgoing(k, seq, coded) for k, coded in slices.items()}
        for index in range(max((len(vector.sums) for vector in self._sent.values()), default=0)):
            for shard, vector in self._sent.items():  # in turn, so that all of them can begin to read
                if index < len(vector.sums) and vector.sums[index] < 0:
                    self._outbox(shard).put(vector, index)
        for shard, vector in self._sent.items():
            self._outbox(shard).finish([vector])
        return {k: Part(len(vector.data), vector.checksum) for k, vector in self._sent.items()}

    def forget_sent_ahead(self) -> None:
        """Forget the slices that went ahead: `send` will send others."""
        self._sent = {}

    def send_ahead(self, shard: int, seq: int, data: memoryview, start: int) -> None:
        """Send ahead the bytes from `start` on, which are final, of the slice that `send` will get for this seq."""
        vector = self._sent[shard] = self._outgoing(shard, seq, Coded(data))
        for index in range(-(-start // PART), len(vector.sums)):
            if vector.sums[index] < 0:
                self._outbox(shard).put(vector, index)

    def resend(self, shard: int, seq: int) -> None:
        """Resend a slice that a shard found damaged or incomplete, if it is of the last vector. Raises: PlaneLost."""
        sent = self._sent.get(shard)
        if sent and sent.seq == seq:
            self._outbox(shard).finish([Outgoing(sent.key, seq, sent.data)])

    def fetch(self, shard: int, where: str, place: memoryview, decoding: Decoding | None = None) -> bool:
        """Read a slice of the center into `place`, also while it is being written, and decode the parts as they arrive. False:
        the stored slice is damaged, or does not come. Raises: PlaneLost."""
        reading = StreamedVector(self._reader(shard), keys.center(self._j, shard, where), place, decoding)
        damaged = quiet = 0
        while damaged < DAMAGED and quiet < QUIET:
            missing = reading.vector.missing
            if retry(reading.read, what="reading the center"):
                return True
            if reading.look_again():
                damaged += 1
                self._retransmissions.add()
            quiet = quiet + 1 if reading.vector.missing == missing else 0
        return False

    def _outgoing(self, shard: int, seq: int, coded: Coded) -> Outgoing:
        """Return the vector of this seq of which some has gone ahead, else a new one."""
        flowing = self._sent.get(shard)
        if flowing and flowing.seq == seq:
            return flowing
        return Outgoing(keys.payload(self._j, shard, *self._incarnation), seq, *coded)

    def _outbox(self, shard: int) -> Outbox:
        access = self._routes.shard(shard)
        if access.url not in self._outboxes:
            redis = Resp(access.url, user=access.user, password=access.password, block=BLOCK)
            self._outboxes[access.url] = Outbox(redis)
        return self._outboxes[access.url]

    def _reader(self, shard: int) -> BulkConnection:
        access = self._routes.shard(shard)
        if access.url not in self._readers:
            self._readers[access.url] = BulkConnection(access.url, user=access.user, password=access.password, block=BLOCK)
        return self._readers[access.url]

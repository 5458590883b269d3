"""The messages of a shard's responses: numbered for each reader, kept for a resend, written to Redis."""

from __future__ import annotations

from collections import defaultdict, deque

from msgspec.structs import replace
from redis import Redis

from gradstream.center.entries import Response
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import retry
from gradstream.wire.transport.messages import FIELD, ResponseMessage
from gradstream.wire.transport.retransmissions import Retransmissions

Incarnation = tuple[int, int]
"""(rank, number of the incarnation) of a process that writes payloads and reads responses."""
_KEPT = 32
"""Messages per incarnation that can be resent; it never has more than a few that it has not read."""


class ResponseMessages:
    def __init__(self, redis: Redis, plane_id: str, shard: int, limit: int, retransmissions: Retransmissions) -> None:
        """`limit`: messages of each incarnation that Redis keeps."""
        self._redis, self._j, self._shard, self._limit = redis, plane_id, shard, limit
        self._retransmissions = retransmissions
        self._numbers: dict[Incarnation, int] = defaultdict(int)
        self._sent: dict[Incarnation, deque[tuple[int, bytes]]] = defaultdict(lambda: deque(maxlen=_KEPT))
        """The newest messages, with their numbers."""

    def last_number(self, incarnation: Incarnation) -> int:
        return self._numbers[incarnation]

    def next_number(self, incarnation: Incarnation) -> int:
        self._numbers[incarnation] += 1
        return self._numbers[incarnation]

    def pack_message(self, incarnation: Incarnation, message: ResponseMessage) -> bytes:
        """Return the bytes of a message, and keep them for a resend."""
        packed = message.pack()
        self._sent[incarnation].append((message.number, packed))
        return packed

    def sent_after(self, incarnation: Incarnation, number: int) -> list[bytes]:
        return [message for each, message in self._sent[incarnation] if each > number]

    def renumber_sent(self, incarnation: Incarnation, number: int) -> bytes | None:
        """Return the message of this number under the next number, without its rows, which are read; None: it is no longer kept."""
        packed = dict(self._sent[incarnation]).get(number)
        if packed is None:
            return None
        message = replace(ResponseMessage.unpack(packed), number=self.next_number(incarnation), rows=None)
        return self.pack_message(incarnation, message)

    def write_messages(self, messages: list[tuple[Incarnation, bytes]], what: str) -> None:
        """Write messages to Redis, where repeats do no harm. Raises: PlaneLost."""
        stamped = [(keys.responses(self._j, self._shard, *incarnation), message) for incarnation, message in messages]
        if stamped:
            retry(lambda: self._write(stamped), what=what)

    def _write(self, stamped: list[tuple[str, bytes]]) -> None:
        pipe = self._redis.pipeline(transaction=False)
        for key, packed in stamped:
            pipe.xadd(key, {FIELD: packed}, maxlen=self._limit, approximate=True)
        pipe.execute()

    def request_resend(self, incarnation: Incarnation, seq: int) -> None:
        """Ask an incarnation on another host to resend its vector of this number. Raises: PlaneLost."""
        message = ResponseMessage(0, Response(*incarnation, seq, "ok", 0, 0, 0), resend=seq)
        key = keys.responses(self._j, self._shard, *incarnation)
        retry(lambda: self._redis.xadd(key, {FIELD: message.pack()}), what="requesting a resend of an update")
        self._retransmissions.add()

    def drop_incarnation(self, incarnation: Incarnation) -> None:
        self._sent.pop(incarnation, None)

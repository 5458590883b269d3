"""Messages of all shards to one incarnation of a worker: each is opened once, in the order of its shard's numbers.

Data that is no message is rejected (user code shares its process's account and may have written it). One may have stood in its
place, so the shards that it may have come from are asked, by an entry of the log, for what they have sent since the last good
one.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from redis import Redis

from gradstream.center.entries import Resend
from gradstream.errors import PlaneLost
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import retry
from gradstream.wire.transport.local import LocalServers
from gradstream.wire.transport.log_writer import LogWriter
from gradstream.wire.transport.messages import FIELD, Header, ResponseMessage
from gradstream.wire.transport.remote import RemoteServers
from gradstream.wire.transport.retransmissions import Retransmissions

log = logging.getLogger(__name__)

POLL_INTERVAL = 0.02
"""Seconds that an incarnation with shards here and elsewhere waits for one kind of message before it looks for the other."""
RETRY_INTERVAL = 0.5
"""Seconds between two requests for the same messages."""
MAX_RETRIES = 20
"""Requests without a good message."""
RESEND_TIMEOUT = 10.0
"""Seconds between two requests while nothing comes at all: what was lost without a trace comes after them."""


class ResponseInbox:
    def __init__(
        self,
        redis: Redis,
        j: str,
        incarnation: tuple[int, int],
        servers: int,
        local: LocalServers,
        remote: RemoteServers,
        writer: LogWriter,
        retransmissions: Retransmissions,
    ) -> None:
        """`remote` resends the payloads that shards reject; `writer` knows the last entry of this incarnation."""
        self._redis, self._j, self._incarnation = redis, j, incarnation
        self._local, self._pipe, self._remote, self._writer = local.shards, local.pipe, remote, writer
        self._retransmissions = retransmissions
        self._messages: list[deque[ResponseMessage]] = [deque() for _ in range(servers)]
        self._numbers = [0] * servers
        self._responses = {keys.responses(j, k, *incarnation): k for k in range(servers) if k not in self._local}
        self._read = dict.fromkeys(self._responses, "0")
        self._why: dict[int, str] = {}
        """Shards of which a message may be missing, and how that was seen."""
        self._wanted = set[tuple[int, int]]()
        """(shard, seq): payloads to resend. A shard may have asked several times before it was heard."""
        self._tries, self._ask_at = 0, 0.0
        self._resend_at = time.monotonic() + RESEND_TIMEOUT

    @property
    def complete(self) -> bool:
        """There is a message of every shard."""
        return all(self._messages)

    def take(self) -> list[ResponseMessage]:
        """The next one of every shard."""
        return [queue.popleft() for queue in self._messages]

    def collect(self, block: float) -> None:
        """Read what messages there are, waiting for the first one up to `block` seconds. Raises: PlaneLost."""
        if self._responses and self._local:
            block = POLL_INTERVAL
        found = self._from_pipe(block) if any(not self._messages[k] for k in self._local) else False
        if self._responses:
            found = self._from_redis(POLL_INTERVAL if self._local else block) or found
        if self._why and time.monotonic() >= self._ask_at:
            self._request_resend()
        if found:
            self._resend_at = time.monotonic() + RESEND_TIMEOUT
        else:
            self._look_around()

    def _look_around(self) -> None:
        if not retry(lambda: self._redis.exists(keys.log(self._j)), what="looking for the log"):
            raise PlaneLost("the log of this attempt is gone")
        if time.monotonic() >= self._resend_at:
            self._writer.check_last()
            self._request()

    def _from_pipe(self, block: float) -> bool:
        assert self._pipe is not None, "an incarnation with shards on its host has a pipe"
        found = self._pipe.read(block)
        for shard, packed in found:
            if shard in self._local:
                self._open(shard, packed)
            else:
                self._reject(self._local, f"one of a shard {shard}, which is not on this host")
        if self._pipe.torn:
            self._pipe.torn = False
            self._reject(self._local, "a piece of one")
        return bool(found)

    def _from_redis(self, block: float) -> bool:
        found: Any = retry(
            lambda: self._redis.xread(self._read, block=max(1, int(block * 1000))),  # type: ignore[arg-type]
            what="waiting for a response",
        )
        for key, entries in found:
            name = key.decode()
            for entry, fields in entries:
                self._read[name] = entry.decode()
                self._open(self._responses[name], fields.get(FIELD, b""))
        for shard, seq in sorted(self._wanted):
            self._remote.resend(shard, seq)
        self._wanted.clear()
        return bool(found)

    def _open(self, shard: int, packed: bytes) -> None:
        try:
            message = ResponseMessage.unpack(packed)
        except ValueError as error:
            self._reject((shard,), str(error))
            return
        if message.resend:
            self._wanted.add((shard, message.resend))
        elif message.number == self._numbers[shard] + 1:
            self._numbers[shard] += 1
            self._messages[shard].append(message)
            self._tries = 0
            self._why.pop(shard, None)
        elif message.number > self._numbers[shard]:
            self._reject((shard,), f"number {message.number} after {self._numbers[shard]}")

    def _reject(self, shards: Iterable[int], why: str) -> None:
        self._why.update(dict.fromkeys(shards, why))

    def _request_resend(self) -> None:
        rank, number = self._incarnation
        from_whom = "shard " + " or ".join(map(str, sorted(self._why)))
        why = next(iter(self._why.values()))
        what = f"a message from {from_whom} to worker {rank}.{number} is missing or cannot be read ({why})"
        if self._tries >= MAX_RETRIES:
            raise PlaneLost(
                f"{what}, and no resend came: something else writes to this attempt's Redis or its folder in shared memory, or "
                "programs of this platform are of different versions; then start all of them again"
            )
        log.warning("%s: it is rejected, and a resend requested", what)
        self._tries, self._ask_at = self._tries + 1, time.monotonic() + RETRY_INTERVAL
        self._why.clear()
        self._request()
        self._retransmissions.add()

    def _request(self) -> None:
        self._resend_at = time.monotonic() + RESEND_TIMEOUT
        header = Header(Resend(*self._incarnation, tuple(self._numbers))).pack()
        retry(lambda: self._redis.xadd(keys.log(self._j), {FIELD: header}, nomkstream=True), what="requesting a resend")

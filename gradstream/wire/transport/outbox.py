"""The sending end of the inline transport: a vector as parts in a Redis stream. `inbox` is the receiving end.

Parts of 512 KiB keep Redis fast (one 16 MiB value travels at a third of the speed), and let its reader begin while its writer
goes on. Each can be checked on its own and says to what it belongs, so a part that is written twice, after a lost connection,
does no harm, and neither does one that no reader waits for.

| field | meaning                                              |
|-------|------------------------------------------------------|
| s     | seq of the entry that the vector belongs to          |
| i     | index of the part, from 0                            |
| n     | bytes of the whole vector                            |
| c     | the part's sum: see `gradstream.wire.transport.checksum`       |
| b     | the bytes: PART of them, the last part what is left  |
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from redis import exceptions

from gradstream.wire.redis.client import retry
from gradstream.wire.redis.resp import Resp
from gradstream.wire.transport import checksum
from gradstream.wire.transport.checksum import PART

AHEAD = 32
"""Parts that are under way before the first of them has to be confirmed: 16 MiB."""


def parts(nbytes: int) -> int:
    return max(1, -(-nbytes // PART))


@dataclass(slots=True)
class Outgoing:
    """One vector on its way. Only `until` may change `data` (contiguous bytes) before Redis holds all of it."""

    key: str
    seq: int
    data: memoryview
    until: Callable[[int], None] = lambda end: None
    """Makes the first `end` bytes final, if they are not: coded bytes leave while the codec makes the rest."""
    missing: set[int] = field(default_factory=set)
    """Parts that Redis has not confirmed."""
    sums: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.missing = set(range(parts(len(self.data))))
        self.sums = [-1] * len(self.missing)

    @property
    def checksum(self) -> int:
        """The checksum of the whole vector, once all parts have been put."""
        return checksum.of_parts(self.sums)


class Outbox:
    """Vectors on their way to one Redis, by a connection of their own."""

    def __init__(self, redis: Resp) -> None:
        self._redis = redis
        self._under_way: deque[tuple[Outgoing, int]] = deque()
        self._error: Exception | None = None

    def put(self, vector: Outgoing, index: int) -> None:
        """Send a part, when its bytes are final; in any order. `finish` repairs a failure."""
        vector.until((index + 1) * PART)
        part = vector.data[index * PART : (index + 1) * PART]
        if vector.sums[index] < 0:
            vector.sums[index] = checksum.of_part(part)
        try:
            self._redis.post(
                (
                    "XADD",
                    vector.key,
                    "*",
                    "s",
                    vector.seq,
                    "i",
                    index,
                    "n",
                    len(vector.data),
                    "c",
                    vector.sums[index],
                    "b",
                    part,
                )
            )
            self._under_way.append((vector, index))
            self._confirm(AHEAD)
        except exceptions.RedisError as error:
            self._lost(error)

    def finish(self, vectors: Sequence[Outgoing]) -> None:
        """Wait until Redis holds all parts of these vectors. Parts that were put are resent only if they were lost.

        Raises: PlaneLost; redis.exceptions.ResponseError: Redis rejects them."""
        retry(lambda: self._finish(vectors), what="sending a vector")

    def _finish(self, vectors: Sequence[Outgoing]) -> None:
        self._confirm_all()
        waiting = [(vector, index) for vector in vectors for index in sorted(vector.missing)]
        for vector, index in waiting:
            self.put(vector, index)
            self._raise()
        self._confirm_all()

    def _confirm_all(self) -> None:
        try:
            self._confirm(0)
        except exceptions.RedisError as error:
            self._lost(error)
        self._raise()

    def _lost(self, error: Exception) -> None:
        """Note that the connection is lost, and that no confirmation comes for the parts under way."""
        self._under_way.clear()
        self._error = error

    def _confirm(self, left: int) -> None:
        """Read replies until so many parts are under way. Raises: of redis.exceptions: the connection is lost."""
        while len(self._under_way) > left:
            [reply] = self._redis.replies(1)
            vector, index = self._under_way.popleft()
            if isinstance(reply, Exception):
                self._error = reply
            else:
                vector.missing.discard(index)

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error:
            raise error

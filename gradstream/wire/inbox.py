"""The inline transport's receiving end: parts go from the socket to their places in vectors, each checked as it comes.

A shard does not wait for headers to begin with: between two looks at the log it takes what has arrived. A vector counts when its
header asks for it, and one that no header asks for is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from torch import Tensor

from gradstream.codecs.coding import Decoding
from gradstream.wire import checksum, ids
from gradstream.wire.bulk import Bulk, Fields
from gradstream.wire.checksum import PART
from gradstream.wire.client import BLOCK
from gradstream.wire.connection import Command
from gradstream.wire.outbox import parts

T = TypeVar("T")
Decode = Callable[[int, bytearray], Decoding | None]
"""(seq, where its bytes will lie) -> how it is decoded; None: it is not. From seq 1 on it depends on its length alone."""

_AT_ONCE = 32
"""Parts in one reply, over all streams: 16 MiB, which Redis holds a second time while it sends them."""
_EARLY = 3
"""Vectors of one stream that may arrive before their headers."""


class Arriving:
    """One vector, part by part. With a `decoding`, what is there is decoded while it is in the cache."""

    def __init__(self, place: memoryview, decoding: Decoding | None = None) -> None:
        self.data = place
        self._decoding = decoding
        self._sums: list[int]
        self._left: int
        self._gap: int
        """The first part that has not arrived."""
        self._next: tuple[int, memoryview] | None
        self.damaged = 0
        """Parts that came and were refused."""
        self.clear()

    def clear(self) -> None:
        """Nothing has arrived."""
        self._sums = [-1] * parts(len(self.data))
        self._left, self._gap, self._next = len(self._sums), 0, None
        if self._decoding:
            self._decoding.again()

    @property
    def whole(self) -> bool:
        return not self._left

    @property
    def missing(self) -> int:
        """Parts that have not come, or came damaged."""
        return self._left

    @property
    def checksum(self) -> int:
        return checksum.of_parts(self._sums)

    def place(self, fields: Fields, size: int) -> memoryview | None:
        """Where the bytes of a part shall lie; None: they are no part of this vector. What comes later counts: its writer may
        have sent another one ahead, and changed its mind."""
        index, self._next = int(fields[b"i"]), None
        if not 0 <= index < len(self._sums):
            return None
        part = self.data[index * PART : (index + 1) * PART]
        if int(fields[b"n"]) != len(self.data) or size != len(part):
            return None
        self._left += self._sums[index] >= 0
        self._sums[index] = -1
        if index < self._gap:
            self._gap = index
            if self._decoding:
                self._decoding.again()
        self._next = (index, part)
        return part

    def arrived(self, fields: Fields) -> None:
        """The part that `place` was asked for lies there. A damaged one counts as missing."""
        if self._next:
            (index, part), self._next = self._next, None
            if (found := checksum.of_part(part)) == int(fields[b"c"]):
                self._sums[index] = found
                self._left -= 1
                self._decode()
            else:
                self.damaged += 1

    def _decode(self) -> None:
        while self._gap < len(self._sums) and self._sums[self._gap] >= 0:
            self._gap += 1
        if self._decoding:
            self._decoding.until(self._gap * PART)


class Early(Arriving):
    """One that lies in memory of ours until its header comes."""

    def __init__(self, memory: bytearray, decoding: Decoding | None) -> None:
        super().__init__(memoryview(memory), decoding)
        self.memory = memory
        self.decoded = decoding.out if decoding else None
        """Shape (n,), if it was decoded."""


class Reading:
    """A vector that has a stream for itself, on its way into memory of ours; it may still be being written."""

    def __init__(self, redis: Bulk, key: str, place: memoryview, decoding: Decoding | None = None) -> None:
        self._redis, self._key, self._last = redis, key, b"0"
        self.vector = Arriving(place, decoding)

    def read(self, block: float = BLOCK) -> bool:
        """True: it is whole. False: parts are missing, and nothing came for `block` seconds. Goes on where it was.

        Raises: as `Resp.ask`; harmless to repeat."""
        while not self.vector.whole:
            wait = ("BLOCK", max(1, int(block * 1000)))
            self._redis.post(("XREAD", "COUNT", _AT_ONCE, *wait, "STREAMS", self._key, self._last))
            if not self._redis.entries(lambda key, fields, size: _tried(lambda: self.vector.place(fields, size)), self._taken):
                return False
        return True

    def look_again(self) -> bool:
        """From the first part on: those that came damaged may have been so only on the way. False: none did so far."""
        self._last = b"0"
        return self.vector.damaged > 0

    def _taken(self, key: bytes, entry: bytes, fields: Fields) -> None:
        self._last = entry
        _tried(lambda: self.vector.arrived(fields))


@dataclass(slots=True)
class _Stream:
    """What comes from one life of a worker."""

    longest: int
    decoding: Decode
    last: bytes = b"0"
    """Id of the last part that was read."""
    trimmed: bytes = b"0"
    """Up to here Redis holds them no more."""
    done: int = -1
    """Seq of the last vector that was handed out."""
    arriving: dict[int, Early] = field(default_factory=dict)
    handed_out: Early | None = None
    spare: list[Early] = field(default_factory=list)

    def place(self, fields: Fields, size: int) -> memoryview | None:
        seq, nbytes = int(fields[b"s"]), int(fields[b"n"])
        if seq not in self.arriving:
            if seq <= self.done or len(self.arriving) >= _EARLY or nbytes > self.longest:
                return None
            self.arriving[seq] = self._early(seq, nbytes)
        return self.arriving[seq].place(fields, size)

    def arrived(self, fields: Fields) -> None:
        if vector := self.arriving.get(int(fields[b"s"])):
            vector.arrived(fields)

    def has(self, seq: int, nbytes: int, checksum: int) -> bool:
        vector = self.arriving.get(seq)
        return vector is not None and vector.whole and (len(vector.data), vector.checksum) == (nbytes, checksum)

    def hand_out(self, seq: int) -> bytearray:
        """Forget what was before this vector."""
        if seq:
            self.arriving.pop(0, None)  # a theta_0 that nobody wanted: it may be as long, but is not coded
        old = [self.arriving.pop(before) for before in sorted(self.arriving) if before < seq]
        self.spare = [*old, *([self.handed_out] if self.handed_out else []), *self.spare][:_EARLY]
        self.done, self.handed_out = seq, self.arriving.pop(seq)
        return self.handed_out.memory

    def make_room(self, seq: int) -> None:
        """A header has asked for this vector; others have only arrived. If it is whole, it is not the one of that header."""
        if seq in self.arriving:
            if self.arriving[seq].whole:
                del self.arriving[seq]
        elif len(self.arriving) >= _EARLY:
            del self.arriving[max(self.arriving)]

    def _early(self, seq: int, nbytes: int) -> Early:
        """In used memory if there is some: the first touch of new pages costs more than the whole transfer."""
        fitting = next((spare for spare in self.spare if seq and len(spare.data) == nbytes), None)
        if fitting is None:
            memory = bytearray(nbytes)
            return Early(memory, self.decoding(seq, memory))
        self.spare = [spare for spare in self.spare if spare is not fitting]
        fitting.clear()
        return fitting


class Inbox:
    """Streams of parts in one Redis, by a connection of its own."""

    def __init__(self, redis: Bulk, longest: int, decoding: Decode = lambda seq, memory: None) -> None:
        """`longest`: bytes; parts of longer vectors are nobody's."""
        self._redis, self._longest, self._decoding = redis, longest, decoding
        self._streams: dict[bytes, _Stream] = {}
        self.armed = False
        """A read is under way: `fileno` becomes readable when parts come, or when none came for a while."""
        self._trims: list[tuple[_Stream, bytes]] = []
        """Posted, not confirmed."""
        self.taken = 0
        """Entries that were read so far."""

    @property
    def watches(self) -> bool:
        return bool(self._streams)

    def fileno(self) -> int:
        return self._redis.fileno()

    def watch(self, key: str) -> None:
        """From now on take in what comes to this stream."""
        if key.encode() in self._streams:
            return
        self._streams[key.encode()] = _Stream(self._longest, self._decoding)
        if self.armed:  # its read does not see this stream
            self._redis.close()
            self.armed, self._trims = False, []

    def unwatch(self, key: str) -> None:
        self._streams.pop(key.encode(), None)

    def arm(self, block: float = BLOCK) -> None:
        """Have Redis free what has arrived and send what comes next, and do not wait. Raises: as `Resp.ask`."""
        if self._streams and not self.armed:
            self._ask(self._streams, ("BLOCK", max(1, int(block * 1000))))
            self.armed = True

    def take(self) -> bool:
        """Wait for what `arm` asked for, and take it in; False: nothing came. Raises: as `Resp.ask`; then nothing is armed."""
        self._confirm_trims()
        self.armed = False
        return self._redis.entries(self._place, self._taken)

    def vector(self, key: str, seq: int, nbytes: int, checksum: int) -> bytearray | None:
        """The vector that a header tells of, or None if it is damaged or a part of it is missing: then it has to be sent again.

        It is valid until the next one of the same stream is handed out. Redis has freed its parts when this returns. Raises: as
        `Resp.ask`; harmless to repeat."""
        self.watch(key)
        stream = self._streams[key.encode()]
        while not stream.has(seq, nbytes, checksum):
            armed = self.armed
            if not armed:
                self._ask({key.encode(): stream}, ())
            if not self.take() and not armed:  # what was armed may have ended long ago
                stream.make_room(seq)
                return None
        self.arm()
        self._confirm_trims()
        return stream.hand_out(seq)

    def decoded(self, key: str) -> Tensor | None:
        """What `vector` has handed out last of this stream, decoded; None: it was not to be."""
        handed_out = self._streams[key.encode()].handed_out
        return handed_out.decoded if handed_out else None

    def _ask(self, streams: dict[bytes, _Stream], wait: Command) -> None:
        behind = [(key, stream, stream.last) for key, stream in self._streams.items() if stream.trimmed != stream.last]
        trims: list[Command] = [("XTRIM", key, "MINID", ids.behind(last.decode())) for key, _, last in behind]
        last = [stream.last for stream in streams.values()]
        most = max(2, _AT_ONCE // len(streams))
        self._redis.post(*trims, ("XREAD", "COUNT", most, *wait, "STREAMS", *streams, *last))
        self._trims = [(stream, last) for _, stream, last in behind]

    def _confirm_trims(self) -> None:
        """Their replies come at once, before that of the read."""
        armed, self.armed = self.armed, False
        trims, self._trims = self._trims, []
        for stream, last in trims:
            self._redis.number()
            stream.trimmed = last
        self.armed = armed

    def _place(self, key: bytes, fields: Fields, size: int) -> memoryview | None:
        stream = self._streams.get(key)
        return _tried(lambda: stream.place(fields, size)) if stream and size <= PART else None

    def _taken(self, key: bytes, entry: bytes, fields: Fields) -> None:
        self.taken += 1
        if stream := self._streams.get(key):
            stream.last = entry
            _tried(lambda: stream.arrived(fields))


def _tried(look: Callable[[], T]) -> T | None:
    """None: the entry is no part; user code shares its process's account, and may have written it."""
    try:
        return look()
    except (KeyError, ValueError):
        return None

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
from gradstream.own_pages import own_memory
from gradstream.wire.redis import ids
from gradstream.wire.redis.bulk import BulkConnection, Fields
from gradstream.wire.redis.client import BLOCK
from gradstream.wire.redis.connection import Command
from gradstream.wire.transport.arriving import Arriving
from gradstream.wire.transport.checksum import PART

T = TypeVar("T")
Decode = Callable[[int, memoryview], Decoding | None]
"""(seq, memory for its bytes) -> its decoding; None: it is not decoded. From seq 1 on this depends on its length alone."""

_AT_ONCE = 32
"""Parts in one reply, over all streams: 16 MiB, which Redis holds a second time while it sends them."""
_EARLY = 3
"""Vectors of one stream that may arrive before their headers."""


class EarlyVector(Arriving):
    """A vector that lies in this process's memory until its header comes."""

    def __init__(self, memory: memoryview, decoding: Decoding | None) -> None:
        super().__init__(memory, decoding)
        self.memory = memory
        self.decoded = decoding.out if decoding else None
        """The decoded vector, shape (n,); None: it is not decoded."""


class StreamedVector:
    """A vector with a stream of its own, on its way into this process's memory, perhaps while its writer still writes it."""

    def __init__(self, redis: BulkConnection, key: str, place: memoryview, decoding: Decoding | None = None) -> None:
        self._redis, self._key, self._last = redis, key, b"0"
        self.vector = Arriving(place, decoding)

    def read(self, block: float = BLOCK) -> bool:
        """Read on. True: the vector is whole. False: parts are missing, and none came for `block` seconds.

        Raises: as `Resp.ask`; harmless to repeat."""
        while not self.vector.whole:
            wait = ("BLOCK", max(1, int(block * 1000)))
            self._redis.post(("XREAD", "COUNT", _AT_ONCE, *wait, "STREAMS", self._key, self._last))
            if not self._redis.entries(lambda key, fields, size: _tried(lambda: self.vector.place(fields, size)), self._taken):
                return False
        return True

    def look_again(self) -> bool:
        """Reread from the first part on: parts may have been damaged only on the way. False: no part has come damaged."""
        self._last = b"0"
        return self.vector.damaged > 0

    def _taken(self, key: bytes, entry: bytes, fields: Fields) -> None:
        self._last = entry
        _tried(lambda: self.vector.arrived(fields))


@dataclass(slots=True)
class _Stream:
    """The vectors from one incarnation of a worker."""

    longest: int
    decoding: Decode
    last: bytes = b"0"
    """Id of the last part that was read."""
    trimmed: bytes = b"0"
    """Id of the last part that Redis has trimmed."""
    done: int = -1
    """Seq of the last vector that was handed out."""
    arriving: dict[int, EarlyVector] = field(default_factory=dict)
    handed_out: EarlyVector | None = None
    spare: list[EarlyVector] = field(default_factory=list)

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

    def hand_out(self, seq: int) -> memoryview:
        """Return the memory of this vector, and forget earlier vectors."""
        if seq:
            self.arriving.pop(0, None)  # a theta_0 that nobody wanted: it may be as long, but is not coded
        old = [self.arriving.pop(before) for before in sorted(self.arriving) if before < seq]
        self.spare = [*old, *([self.handed_out] if self.handed_out else []), *self.spare][:_EARLY]
        self.done, self.handed_out = seq, self.arriving.pop(seq)
        return self.handed_out.memory

    def free_place(self, seq: int) -> None:
        """Free a place for a vector that a header has named. If it is here and whole, it is not that header's, so drop it."""
        if seq in self.arriving:
            if self.arriving[seq].whole:
                del self.arriving[seq]
        elif len(self.arriving) >= _EARLY:
            del self.arriving[max(self.arriving)]

    def _early(self, seq: int, nbytes: int) -> EarlyVector:
        """Return a place for a vector, in used memory if there is some: touching new pages costs more than the whole transfer."""
        fitting = next((spare for spare in self.spare if seq and len(spare.data) == nbytes), None)
        if fitting is None:
            memory = own_memory(nbytes)
            return EarlyVector(memory, self.decoding(seq, memory))
        self.spare = [spare for spare in self.spare if spare is not fitting]
        fitting.clear()
        return fitting


class Inbox:
    """Streams of parts in one Redis, by a connection of its own."""

    def __init__(self, redis: BulkConnection, longest: int, decoding: Decode = lambda seq, memory: None) -> None:
        """`longest`: bytes; parts of longer vectors are ignored."""
        self._redis, self._longest, self._decoding = redis, longest, decoding
        self._streams: dict[bytes, _Stream] = {}
        self.armed = False
        """A read is under way: `fileno` becomes readable when parts come, or when none came for a while."""
        self._trims: list[tuple[_Stream, bytes]] = []
        """Trims that are posted but not confirmed."""
        self.taken = 0
        """Entries read so far."""

    @property
    def watches(self) -> bool:
        return bool(self._streams)

    def fileno(self) -> int:
        return self._redis.fileno()

    def watch(self, key: str) -> None:
        """Take in the parts of this stream from now on."""
        if key.encode() in self._streams:
            return
        self._streams[key.encode()] = _Stream(self._longest, self._decoding)
        if self.armed:  # its read does not see this stream
            self._redis.close()
            self.armed, self._trims = False, []

    def unwatch(self, key: str) -> None:
        self._streams.pop(key.encode(), None)

    def arm(self, block: float = BLOCK) -> None:
        """Have Redis free the parts that have arrived and send the next ones, without waiting. Raises: as `Resp.ask`."""
        if self._streams and not self.armed:
            self._ask(self._streams, ("BLOCK", max(1, int(block * 1000))))
            self.armed = True

    def take(self) -> bool:
        """Wait for the parts that `arm` asked for, and take them in; False: none came. Raises: as `Resp.ask`, and disarms."""
        self._confirm_trims()
        self.armed = False
        return self._redis.entries(self._place, self._taken)

    def vector(self, key: str, seq: int, nbytes: int, checksum: int) -> memoryview | None:
        """Return the vector that a header names, or None if it is damaged or incomplete: then the worker must resend it.

        It is valid until the next one of the same stream is handed out. Redis has freed its parts when this returns. Raises: as
        `Resp.ask`; harmless to repeat."""
        self.watch(key)
        stream = self._streams[key.encode()]
        while not stream.has(seq, nbytes, checksum):
            armed = self.armed
            if not armed:
                self._ask({key.encode(): stream}, ())
            if not self.take() and not armed:  # what was armed may have ended long ago
                stream.free_place(seq)
                return None
        self.arm()
        self._confirm_trims()
        return stream.hand_out(seq)

    def decoded(self, key: str) -> Tensor | None:
        """Return the decoded form of the last vector of this stream; None: that vector is not decoded."""
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
        """Read the replies to the trims, which come at once, before that of the read."""
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
    """Return None if the entry is no part: user code shares its process's account, and may have written it."""
    try:
        return look()
    except (KeyError, ValueError):
        return None

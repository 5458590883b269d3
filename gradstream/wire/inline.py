"""The inline transport: a vector as parts in a Redis stream, pipelined.

Parts of 256 KiB keep Redis fast (one 16 MiB value travels at a third of the speed). A part that is written twice, after a
lost connection, does no harm: readers put parts in their places by index.

| field | meaning                                              |
|-------|------------------------------------------------------|
| s     | seq of the entry that the vector belongs to          |
| i     | index of the part, from 0                            |
| b     | the bytes: CHUNK of them, the last part what is left |
"""

from __future__ import annotations

from redis import Redis

from gradstream.wire import ids

CHUNK = 256 * 1024
PIPELINED = 16
"""Parts per round trip: about 4 MiB, so that neither side holds much more than the vector itself."""

Stream = tuple[str, int, memoryview]
"""Key, seq, bytes."""


def parts(nbytes: int) -> int:
    return max(1, -(-nbytes // CHUNK))


def write(redis: Redis, streams: list[Stream]) -> None:
    """Write vectors to their streams. When it returns, all of them lie there whole."""
    pipe, queued = redis.pipeline(transaction=False), 0
    for key, seq, data in streams:
        for index in range(parts(len(data))):
            pipe.xadd(key, {b"s": seq, b"i": index, b"b": bytes(data[index * CHUNK : (index + 1) * CHUNK])})
            queued += 1
            if queued == PIPELINED:
                pipe.execute()
                queued = 0
    if queued:
        pipe.execute()


def read(redis: Redis, key: str, seq: int, nbytes: int) -> tuple[bytearray | None, str]:
    """The vector of `nbytes` that belongs to `seq`, or None if a part of it is missing; and the id of the last part seen."""
    wanted, found, last = parts(nbytes), set[int](), "0"
    data = bytearray(nbytes)
    while len(found) < wanted:
        entries: list[tuple[bytes, dict[bytes, bytes]]] = redis.xrange(key, min=f"({last}", count=PIPELINED)  # type: ignore[assignment]
        if not entries:
            return None, last
        for entry, fields in entries:
            last = entry.decode()
            if int(fields[b"s"]) == seq:
                index = int(fields[b"i"])
                data[index * CHUNK : index * CHUNK + len(fields[b"b"])] = fields[b"b"]
                found.add(index)
    return data, last


def free(redis: Redis, key: str, last: str) -> None:
    """Drop everything up to and including `last` from a stream of payloads."""
    redis.xtrim(key, minid=ids.behind(last), approximate=False)

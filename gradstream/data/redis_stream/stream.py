"""A Redis stream that a job learns from while others add to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from gradstream.data.fields import StreamFields
from gradstream.data.source import Stream
from gradstream.errors import InvalidWorkload

if TYPE_CHECKING:
    from gradstream.data.redis_stream.name import StreamEntry
    from gradstream.data.redis_stream.reader import StreamReader

_PIECE = 1024
"""Entries that are read at once where the stream is not followed."""


class RedisStream(Stream):
    """Entry by entry one example. Each reader has a connection of its own."""

    def __init__(self, url: str, key: str, fields: StreamFields, start: int, pass_size: int) -> None:
        """Raises: InvalidWorkload: the URL is none."""
        self._url, self._key, self._fields, self.start, self.pass_size = url, key, fields, start, pass_size
        self.name = self.reader().stream

    def reader(self) -> StreamReader:
        from gradstream.data.redis_stream.reader import StreamReader  # imports redis, which no other source needs

        return StreamReader(self._url, self._key)

    def decode(self, entries: Sequence[StreamEntry]) -> Any:
        """Return the batch of these entries. Raises: InvalidWorkload: a field is missing or wrong."""
        return self._fields.batch(self.name, entries)

    def pieces(self, start: int) -> Iterator[Any]:
        """All examples that are there now."""
        reader, number = self.reader(), self.start + start
        count = reader.count()
        if reader.added is None:
            raise InvalidWorkload(f"{self.name} cannot be reached; each node that runs workers must reach this address")
        while number < count:
            some = min(_PIECE, count - number)
            if not reader.fetch(number, some):
                raise InvalidWorkload(f"{self.name} ended early: entry number {number} cannot be read any more")
            yield self.decode(reader.take(some))
            number += some

    def trim(self, before: int) -> int:
        """Remove the entries before this number from the stream, and return how many. The newest entry always stays.

        `before`: at most what the last checkpoint of each job that follows this stream needs; an event of the job has the number.
        Raises: InvalidWorkload: there is no such number; the account may not XTRIM. Unavailable."""
        return self.reader().trim(before)


def redis_stream(
    url: str,
    key: str,
    features: Sequence[str] = (),
    label: str | None = None,
    *,
    ids: Sequence[str] = (),
    hashed: Sequence[str] = (),
    label_dtype: torch.dtype = torch.float32,
    start: int = 0,
    pass_size: int = 100_000,
) -> RedisStream:
    """The batches of `parquet`, from a Redis stream: each entry is an example, its fields are the columns.

    `url`: as redis-py takes it, with user and password if there are any; errors and logs do not show those. `features`: numbers, or
    JSON lists of them, equally long. `ids`: whole numbers of 64 bits, or JSON lists of any length. `hashed`: strings, or JSON
    lists of them, as `gradstream.nn.hashed(strings, NAME)`. `start`: the number of the first entry to learn, where the first entry
    that was ever added is 0. `pass_size`: examples of a pass, rounded up to whole mini-batches of all workers;
    `data.length` in the job file goes before it.

    As dataset("train") of a job, the stream is *followed*: workers wait for entries. Elsewhere it is a stream of what is there.
    Raises: InvalidWorkload: a wrong argument. Redis is first asked when an example is wanted."""
    if not isinstance(key, str) or not key:
        raise InvalidWorkload("redis_stream: name the stream's key, such as 'clicks'")
    if not isinstance(start, int) or start < 0:
        raise InvalidWorkload(f"redis_stream: start is the number of an entry, 0 or more, not {start!r}")
    if not isinstance(pass_size, int) or pass_size < 1:
        raise InvalidWorkload(f"redis_stream: pass_size is a number of examples, 1 or more, not {pass_size!r}")
    return RedisStream(url, key, StreamFields(features, label, label_dtype, ids, hashed), start, pass_size)

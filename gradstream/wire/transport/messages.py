"""Messages as they travel: one JSON field each. A header is an `Entry` and the place of its vectors; a
`ResponseMessage` is a `Response` and the place of its vector.

msgspec encodes and decodes them. Between two passes over megabytes the caches hold no Python code, so the cost of a message is
the amount of code that it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gradstream.center.entries import Entry, Response

FIELD = b"m"
SHARED = "shared"
"""The `where` of a response whose vector lies in shared memory."""
ON_DEVICE = "device"
"""The `where` of a response whose vector lies in `DeviceVectors`."""
ATTEMPT = b'{"kind":"attempt"}'
"""The first entry of a log, which only creates its stream."""

_encode = msgspec.json.Encoder().encode


def message_in(fields: Sequence[bytes]) -> bytes:
    """Return the message of a log's entry: its names and values by turns. Another version may write more of them, in any order.

    Raises: ValueError: it has none."""
    if fields[0] == FIELD:
        return fields[1]
    return fields[2 * fields[::2].index(FIELD) + 1]


class Part(Struct, frozen=True, array_like=True):
    """A vector in one shard's payload stream. 0 bytes: the vector lies in shared memory."""

    nbytes: int
    checksum: int
    """See `gradstream.wire.transport.checksum`; 0 with a response, whose vector is checked part by part."""


class Header(Struct, frozen=True, omit_defaults=True):
    entry: Entry
    parts: tuple[Part, ...] = ()
    """One per shard, if the entry has a payload."""
    layout: dict[str, Any] | None = None
    """With an `Init`: the fields of the model's `Layout`."""
    shared: tuple[int, ...] = ()
    """With a `Join`: the shards that find this incarnation's vectors in shared memory."""
    into: int = 0
    """Index of the writer's shared-memory buffer that the response's center goes into."""
    rows: tuple[Part, ...] = ()
    """One per shard, if the entry has rows: see `gradstream.wire.row_transport`."""
    read: int = 0
    """Responses that the writer has read from each shard: their vectors may be removed."""
    observed: str = ""
    """With a `Push`: packed `Observations`, for shard 0."""
    passes_over: int | None = None
    """With a `Push`: see `Payload`."""
    device: str = ""
    """With a `Join`: the name of the GPU on which this incarnation computes, and on which it could share vectors with its shard."""
    on_device: bool = False
    """With a `Push`: its vector lies in `DeviceVectors`, and so shall the center of its response."""

    def pack(self) -> bytes:
        return _encode(self)

    @classmethod
    def unpack(cls, packed: bytes) -> Header | None:
        """Return None for the entry that only creates the log."""
        return None if packed == ATTEMPT else _header(packed)


class ResponseMessage(Struct, frozen=True, array_like=True):
    """A response on its way. `number` counts a shard's messages to one worker, so that one written twice is read once."""

    number: int
    response: Response
    where: str = ""
    """With a vector: the last part of the key of its stream."""
    part: Part | None = None
    resend: int = 0
    """Not a response: this shard found the payload of this seq damaged and asks for a resend."""
    rows: Part | None = None
    """With rows."""

    def pack(self) -> bytes:
        """Encode all but the payload, which travels beside it."""
        return _encode(replace(self, response=replace(self.response, payload=None)))

    @classmethod
    def unpack(cls, packed: bytes) -> ResponseMessage:
        return _response_message(packed)


_header = msgspec.json.Decoder(Header).decode
_response_message = msgspec.json.Decoder(ResponseMessage).decode

"""The name of a topic in errors, and its messages."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from gradstream.data.fields import FieldValue
from gradstream.errors import InvalidWorkload

_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text_of = msgspec.json.Decoder(str).decode


class TopicMessage(NamedTuple):
    """An example: a JSON object. A `StreamFields` entry."""

    partition: int
    offset: int
    value: bytes

    @property
    def id(self) -> bytes:
        return b"%d of partition %d" % (self.offset, self.partition)

    def values(self) -> dict[str, FieldValue]:
        """Raises: ValueError: it is no JSON object."""
        try:
            return {name: _value_of(bytes(raw)) for name, raw in _fields_of(self.value).items()}
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(f'it is no JSON object ({error}); write one like {{"price": 0.25, "tags": ["red"]}}') from None


def _value_of(raw: bytes) -> FieldValue:
    """Numbers and lists stay as they are written, so that no digit of an id is lost."""
    return _text_of(raw) if raw[:1] == b'"' else raw


class TopicName(NamedTuple):
    topic: str
    servers: str

    def __str__(self) -> str:
        return f"the topic '{self.topic}' at {self.servers}"

    def removed(self, partition: int, needed: int, first: int) -> InvalidWorkload:
        return InvalidWorkload(
            f"{self}: partition {partition} begins with offset {first} now, and offset {needed} is still to be learned: retention "
            "deleted messages too early. Keep what the last checkpoint needs (docs/guides/online.md). To go on without them, "
            f"submit a job with start={{{partition}: {first}}}, and start_from this one"
        )

    def remade(self, partition: int, needed: int, end: int) -> InvalidWorkload:
        return InvalidWorkload(
            f"{self}: partition {partition} ends at offset {end}, and messages up to {needed} were read already: the topic was "
            "made anew, or lost messages when a broker failed. To learn what is there, submit a new job with start_from this one"
        )

    def replaced(self) -> InvalidWorkload:
        return InvalidWorkload(
            f"{self} is another one than that whose messages were read: it was deleted and made anew. To learn what is there, "
            "submit a new job with start_from this one"
        )

    def leaderless(self, partition: int, seconds: float) -> InvalidWorkload:
        return InvalidWorkload(
            f"{self}: partition {partition} had no leader that answers for {seconds:.0f} s. Bring its broker back, or elect "
            "another leader. Each node that runs workers must reach the addresses that all brokers advertise. Then submit the job "
            "again with start_from this one"
        )

    def deleted(self) -> InvalidWorkload:
        return InvalidWorkload(
            f"{self} is gone, or some of its partitions are: it was deleted while a job follows it. Submit a new job with "
            "start_from this one when there is a topic again"
        )

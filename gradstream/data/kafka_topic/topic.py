"""A Kafka topic that a job learns from while others write to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from gradstream.data.fields import StreamFields
from gradstream.data.kafka_topic.name import TopicMessage, TopicName
from gradstream.data.kafka_topic.settings import Settings, client_settings, servers_of
from gradstream.data.source import Stream
from gradstream.errors import InvalidWorkload

if TYPE_CHECKING:
    from gradstream.data.kafka_topic.reader import TopicReader

_PIECE = 1024
"""Offsets that are read at once where the topic is not followed."""


class KafkaTopic(Stream):
    """Message by message one example. Each reader has a connection of its own."""

    def __init__(
        self,
        name: TopicName,
        settings: Settings | None,
        fields: StreamFields,
        start: Mapping[int, int],
        pass_size: int,
        idle: float,
    ) -> None:
        """Raises: InvalidWorkload: wrong settings; the client is not installed."""
        from gradstream.data.kafka_topic.connection import make_client

        self.name, self.pass_size = name, pass_size
        self._settings, self._fields, self._start, self._idle = client_settings(name.servers, settings), fields, start, idle
        make_client(self._settings).close()

    def reader(self, size: int, rank: int = 0, workers: int = 1) -> TopicReader:
        """Return a reader of the pieces of a worker. `size`: offsets of a piece."""
        from gradstream.data.kafka_topic.reader import TopicReader

        return TopicReader(self.name, self._settings, self._start, self._idle, size, (rank, workers))

    def decode(self, messages: Sequence[TopicMessage]) -> Any:
        """Return the batch of these messages. Raises: InvalidWorkload: a field is missing or wrong."""
        return self._fields.batch(self.name, messages)

    def trim(self, before: Mapping[int, int]) -> NoReturn:
        """Refuse it: a topic is trimmed by its retention. Raises: InvalidWorkload."""
        raise InvalidWorkload(
            f"{self.name} is trimmed by its brokers only: set its retention.ms longer than the job may rest. To delete records "
            "earlier, use Kafka's own tools, up to first_needed of the job's last event 'checkpoint'"
        )

    def pieces(self, start: int) -> Iterator[Any]:
        """All examples that are there now, one partition after the other."""
        from gradstream.data.kafka_topic.snapshot import read_what_is_there

        for messages in read_what_is_there(self.name, self._settings, self._start, _PIECE):
            if wanted := messages[start:]:
                yield self.decode(wanted)
            start = max(0, start - len(messages))


def kafka(
    servers: str | Sequence[str],
    topic: str,
    features: Sequence[str] = (),
    label: str | None = None,
    *,
    ids: Sequence[str] = (),
    hashed: Sequence[str] = (),
    label_dtype: torch.dtype = torch.float32,
    settings: Settings | None = None,
    start: Mapping[int, int] | None = None,
    pass_size: int = 100_000,
    idle: float = 5.0,
) -> KafkaTopic:
    """The batches of `parquet`, from a Kafka topic: each message is an example, a JSON object whose members are the columns.

    `servers`: addresses of some brokers, "host:9092,other:9092". `features`: numbers, or lists of them, equally long. `ids`: whole
    numbers of 64 bits, or lists of any length. `hashed`: strings, or lists of them, as `gradstream.nn.hashed(strings, NAME)`.
    `settings`: those of librdkafka, such as security.protocol and sasl.password, or the path of a file with a line NAME=VALUE for
    each; errors and logs do not show values. `start`: the first offset to learn, by partition; of others, the first that is there.
    `pass_size`: examples of a pass, rounded up to whole mini-batches of all workers; `data.length` in the job file goes before it.
    `idle`: seconds for which a partition without messages keeps younger ones of others waiting.

    As dataset("train") of a job, the topic is *followed*: workers wait for messages. Elsewhere it is a stream of what is there.
    Raises: InvalidWorkload: a wrong argument; no confluent-kafka here. Brokers are first asked when an example is wanted."""
    if not isinstance(topic, str) or not topic:
        raise InvalidWorkload("kafka: name the topic, such as 'clicks'")
    if any(not isinstance(offset, int) or offset < 0 for each in (start or {}).items() for offset in each):
        raise InvalidWorkload(f"kafka: start has the first offset by partition, such as {{0: 1200}}, not {start!r}")
    if not isinstance(pass_size, int) or pass_size < 1:
        raise InvalidWorkload(f"kafka: pass_size is a number of examples, 1 or more, not {pass_size!r}")
    if not 0 <= idle <= 3600:
        raise InvalidWorkload(f"kafka: idle is a number of seconds, from 0 to 3,600, not {idle!r}")
    fields = StreamFields(features, label, label_dtype, ids, hashed, source="kafka", encoded=False)
    return KafkaTopic(TopicName(topic, servers_of(servers)), settings, fields, start or {}, pass_size, idle)

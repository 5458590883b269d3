"""Reads the messages of a topic that are there now."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from gradstream.data.kafka_topic.connection import REPLY_TIMEOUT, TopicConnection
from gradstream.data.kafka_topic.name import TopicMessage, TopicName
from gradstream.errors import InvalidWorkload


def read_what_is_there(
    name: TopicName, settings: Mapping[str, Any], start: Mapping[int, int], count: int
) -> Iterator[list[TopicMessage]]:
    """Yield up to `count` messages at once, one partition after the other. Raises: InvalidWorkload. BrokersAway."""
    for partition in range(TopicConnection(name, settings).count_partitions()):
        connection = TopicConnection(name, settings)
        first, end = connection.bounds(partition)
        offset, heard = start.get(partition, first), time.monotonic()
        if offset < first:
            raise name.removed(partition, offset, first)
        connection.follow({partition: offset})
        while offset < end:
            messages: list[TopicMessage] = []
            for found in connection.read(count, 0.2):
                at, error = found.offset(), found.error()
                if error is not None and error.name() != "_PARTITION_EOF":
                    connection.explain(partition, offset, error)
                elif at is not None:
                    offset, value, heard = at + (error is None), found.value(), time.monotonic()
                    if error is None and value is not None and at < end:
                        messages.append(TopicMessage(partition, at, value))
            if messages:
                yield messages
            elif time.monotonic() > heard + REPLY_TIMEOUT * 3:
                raise InvalidWorkload(f"{name}: offset {offset} of partition {partition} did not come; is a broker away?")

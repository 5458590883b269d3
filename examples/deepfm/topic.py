"""The Kafka topic that `fill.py` fills. Needs confluent-kafka: pip install 'gradstream[kafka]'."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

TIMEOUT = 30.0
"""Seconds for which brokers may take no message."""


class FilledTopic:
    def __init__(self, servers: str, topic: str, settings: Path | None = None) -> None:
        """`settings`: of the client, NAME=VALUE in each line."""
        from confluent_kafka import Consumer, Producer

        lines = settings.read_text().splitlines() if settings else []
        given = {"bootstrap.servers": servers} | dict(line.split("=", 1) for line in lines if line.strip())
        self._producer, self._topic = Producer(given | {"linger.ms": 20}), topic
        self._lost: list[str] = []
        """Why messages were not taken."""
        self._consumer = Consumer(given | {"group.id": "fill", "enable.auto.commit": False})

    def count(self) -> int:
        """Return how many messages were ever added. Makes the topic where brokers make topics by themselves."""
        from confluent_kafka import TopicPartition

        partitions = self._producer.list_topics(self._topic, timeout=TIMEOUT).topics[self._topic].partitions
        ends = (self._consumer.get_watermark_offsets(TopicPartition(self._topic, number), timeout=TIMEOUT) for number in partitions)
        return sum(end for _, end in ends)

    def add(self, rows: Sequence[Mapping[str, int]]) -> None:
        """Add a message for each row. Kafka's client chooses the partition. Raises: SystemExit: some were not taken."""
        self._lost.clear()
        for row in rows:
            while not self._takes(json.dumps(row)):
                self._producer.poll(0.1)  # the client's queue is full
        left = self._producer.flush(TIMEOUT)
        if left or self._lost:
            why = self._lost[0] if self._lost else f"{left} are still waiting"
            raise SystemExit(f"the topic '{self._topic}' does not take the clicks: {why}")

    def _takes(self, value: str) -> bool:
        try:
            self._producer.produce(self._topic, value, on_delivery=self._note)
        except BufferError:
            return False
        return True

    def _note(self, error: object, message: object) -> None:
        if error:
            self._lost.append(str(error))

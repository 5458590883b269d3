"""A Kafka broker for tests: the one inside librdkafka, which speaks the real protocol over TCP to clients in any process.

It does not cover: accounts and TLS, log compaction, times of brokers (LogAppendTime), failing over between replicas, and the disk
of a broker. Deleted records and topics, transactions, errors of brokers, and brokers that are down are as they are.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import confluent_kafka

_PRODUCER = 0


def _library() -> ctypes.CDLL:
    """The one that the Python client uses."""
    beside = Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs")
    library = ctypes.CDLL(str(next(beside.glob("librdkafka-*.so*"))))
    library.rd_kafka_conf_new.restype = library.rd_kafka_new.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return library


class KafkaBroker:
    def __init__(self) -> None:
        self._library, error = _library(), ctypes.create_string_buffer(500)
        conf = ctypes.c_void_p(self._library.rd_kafka_conf_new())
        self._handle = ctypes.c_void_p(self._library.rd_kafka_new(_PRODUCER, conf, error, ctypes.c_size_t(500)))
        self._cluster = ctypes.c_void_p(self._library.rd_kafka_mock_cluster_new(self._handle, 1))
        self._library.rd_kafka_mock_set_controller_id(self._cluster, 1)
        self.servers: str = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self._producer = self.producer()

    def producer(self, **settings: Any) -> confluent_kafka.Producer:
        given = {"bootstrap.servers": self.servers, "linger.ms": 0, "enable.idempotence": False, "log_level": 0}
        return confluent_kafka.Producer(given | {name.replace("_", "."): value for name, value in settings.items()})

    def create(self, topic: str, partitions: int) -> None:
        self._asked("rd_kafka_mock_topic_create", topic.encode(), partitions, 1)
        self._producer = self.producer()  # the one before may remember a topic of that name

    def delete(self, topic: str) -> None:
        self._asked("rd_kafka_mock_topic_delete", topic.encode())

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """As retention does."""
        self._asked("rd_kafka_mock_partition_delete_records", topic.encode(), partition, ctypes.c_int64(before))

    def fail_with(self, topic: str, error: int) -> None:
        """Answer each question about the topic with an error; 0: no more."""
        self._library.rd_kafka_mock_topic_set_error(self._cluster, topic.encode(), error)

    def deny_leader(self, topic: str, partition: int, replies: int) -> None:
        """Name no leader of a partition in the next replies to clients that ask for it."""
        for _ in range(replies):
            self._asked("rd_kafka_mock_partition_push_leader_response", topic.encode(), partition, -1, -1)

    def go_down(self) -> None:
        self._asked("rd_kafka_mock_broker_set_down", 1)

    def come_up(self) -> None:
        self._asked("rd_kafka_mock_broker_set_up", 1)

    def add(self, topic: str, partition: int, rows: Iterable[Any], at: float | None = None) -> None:
        """Add messages, in this order. `at`: their time, in seconds; each is a millisecond younger than the one before."""
        begin = int((time.time() if at is None else at) * 1000)
        for number, row in enumerate(rows):
            value = row if isinstance(row, bytes) or row is None else json.dumps(row).encode()
            self._producer.produce(topic, value=value, partition=partition, timestamp=begin + (number if at is not None else 0))
        assert self._producer.flush(10) == 0

    def stop(self) -> None:
        del self._producer
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)

    def _asked(self, function: str, *arguments: Any) -> None:
        error = getattr(self._library, function)(self._cluster, *arguments)
        assert error == 0, f"{function}: {error}"

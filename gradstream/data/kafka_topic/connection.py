"""A connection to the user's brokers: partitions with their bounds, messages, and a bounded wait where no broker answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from gradstream.data.kafka_topic.name import TopicName
from gradstream.data.kafka_topic.settings import OF_READERS
from gradstream.errors import InvalidWorkload, Unavailable
from gradstream.sandbox import door

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message
    from confluent_kafka.admin import AdminClient

REPLY_TIMEOUT = 3.0
FIRST_REPLY_TIMEOUT, AWAY_TIMEOUT = 30.0, 600.0
"""Seconds for which all brokers may be away: before their first reply, and after it."""
_ID_RETRY_INTERVAL = 60.0
"""Seconds until brokers that gave no id of the topic are asked again."""
_NOTED_AT_ONCE = 100
"""Messages that one look for trouble takes at most."""
_RETRY_INTERVAL = 2.0
"""Seconds between two attempts to reach brokers that are away."""
_NOTED_AFTER = 10.0
"""Seconds after which brokers that are away are out of reach."""
_REFUSED = {
    "_AUTHENTICATION": "refuses the account; correct sasl.mechanism, sasl.username and sasl.password in settings",
    "TOPIC_AUTHORIZATION_FAILED": "may not be read by this account; it needs the operations Describe and Read on the topic",
    "CLUSTER_AUTHORIZATION_FAILED": "may not be read by this account; it needs the operations Describe and Read on the topic",
    "SASL_AUTHENTICATION_FAILED": "refuses the account; correct sasl.mechanism, sasl.username and sasl.password in settings",
    "UNSUPPORTED_SASL_MECHANISM": "does not take this sasl.mechanism; correct it in settings",
    "TOPIC_EXCEPTION": "has a name that Kafka does not allow; correct it",
}
_DELETED = ("UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION")
_OUT_OF_RANGE = ("OFFSET_OUT_OF_RANGE", "_AUTO_OFFSET_RESET", "_LOG_TRUNCATION")
_DAMAGED = ("_BAD_MSG", "_BAD_COMPRESSION", "CORRUPT_MESSAGE")

log = logging.getLogger(__name__)


class BrokersAway(Unavailable):
    """No broker answers, or not yet. They may come back."""


class TopicConnection:
    """Not safe for threads. The client has threads of its own, and is made with the first question."""

    def __init__(self, name: TopicName, settings: Mapping[str, Any]) -> None:
        self.name, self._settings = name, settings
        self._made: Consumer | None = None
        self._made_admin: AdminClient | None = None
        self._asks_id_from = float("-inf")
        self.answered = False
        self.leaderless: set[int] = set()
        """Partitions without a leader, as of the last count."""
        self._heard = self._tried = float("-inf")
        """When a broker answered last, and was asked last."""
        self._away_since: float | None = None
        self._trouble: KafkaError | None = None
        """The last error of the client."""
        self._early: list[Message] = []
        """Messages that came while it was asked for that."""

    @property
    def is_unreachable(self) -> bool:
        """Brokers have been away for more than some seconds."""
        return self._away_since is not None and time.monotonic() > self._away_since + _NOTED_AFTER

    @property
    def may_look(self) -> bool:
        """Brokers that are away are tried less often."""
        return self._away_since is None or time.monotonic() >= self._tried + _RETRY_INTERVAL

    def count_partitions(self) -> int:
        """0: there is no such topic. Raises: BrokersAway. InvalidWorkload: they have been away for too long; they refuse."""
        cluster = self._asked(lambda: self._client.list_topics(self.name.topic, timeout=REPLY_TIMEOUT))
        found = cluster.topics[self.name.topic]
        if found.error is not None:
            self._check(found.error)
            if found.error.name() not in _DELETED:
                self._wait(found.error)
        self.leaderless = {number for number, partition in found.partitions.items() if partition.leader not in cluster.brokers}
        return len(found.partitions)

    def topic_id(self) -> str | None:
        """Return the id that the topic has had since it was made; None: brokers do not tell one."""
        from confluent_kafka import KafkaException, TopicCollection

        if time.monotonic() < self._asks_id_from:
            return None
        try:
            found = self._admin.describe_topics(TopicCollection([self.name.topic]), request_timeout=REPLY_TIMEOUT)
            id = str(found[self.name.topic].result().topic_id)
        except KafkaException:  # other questions find out whether brokers are away
            self._asks_id_from = time.monotonic() + _ID_RETRY_INTERVAL
            return None
        return id if id.strip("A") else None

    def bounds(self, partition: int) -> tuple[int, int]:
        """Return the first offset that is there, and the one behind the last. Raises: as `count_partitions`."""
        from confluent_kafka import TopicPartition

        at = TopicPartition(self.name.topic, partition)
        first, end = self._asked(lambda: self._client.get_watermark_offsets(at, timeout=REPLY_TIMEOUT))
        return first, end

    def last_seen_end(self, partition: int) -> int:
        """Return the end of a partition as of the last messages that came; negative: not known."""
        from confluent_kafka import TopicPartition

        seen = self._client.get_watermark_offsets(TopicPartition(self.name.topic, partition), cached=True)
        return int(seen[1]) if seen else -1

    def follow(self, offsets: Mapping[int, int]) -> None:
        """Read these partitions, too, each from this offset on."""
        from confluent_kafka import TopicPartition

        self._client.incremental_assign([TopicPartition(self.name.topic, *each) for each in offsets.items()])

    def leave_off(self, partition: int) -> None:
        """Read no more of it, until `follow`. (A client that pauses it says no second time that it has ended.)"""
        from confluent_kafka import TopicPartition

        self._client.incremental_unassign([TopicPartition(self.name.topic, partition)])

    def read(self, count: int, seconds: float) -> list[Message]:
        """Return messages and ends of partitions: those that are there, or else the first to come. Raises: InvalidWorkload."""
        found, self._early = self._early + self._client.consume(count, 0), []  # with a timeout it would wait for so many
        if not found and seconds and (first := self._client.poll(seconds)):
            found = [first]
        if found:
            self._note_reply()
        self._check(self._trouble)
        return found

    def explain(self, partition: int, offset: int, error: KafkaError) -> None:
        """Raise what an error with a partition means; return if it may pass. `offset`: of the next message.

        Raises: BrokersAway. InvalidWorkload."""
        self._check(error)
        if error.name() in _DELETED and not self.count_partitions():
            raise self.name.deleted()
        if error.name() in _OUT_OF_RANGE:
            first, end = self.bounds(partition)
            raise self.name.removed(partition, offset, first) if offset < first else self.name.remade(partition, offset, end)
        if error.name() in _DAMAGED:
            raise InvalidWorkload(f"{self.name}: offset {offset} of partition {partition} cannot be read: {error.str()}")
        self._note_trouble(error)

    def hears(self, within: float) -> bool:
        """Return whether a broker has answered within so many seconds."""
        return time.monotonic() < self._heard + within and self._trouble is None

    @property
    def _client(self) -> Consumer:
        if self._made is None:
            self._made = make_client(self._settings, self._note_trouble)
        return self._made

    @property
    def _admin(self) -> AdminClient:
        from confluent_kafka.admin import AdminClient

        if self._made_admin is None:
            shared = {name: value for name, value in self._settings.items() if name not in OF_READERS}
            self._made_admin = AdminClient(shared, logger=_client_log)
        return self._made_admin

    def _asked(self, question: Any) -> Any:
        from confluent_kafka import KafkaException

        self._tried = time.monotonic()
        try:
            reply = question()
        except KafkaException as error:
            self._early += self._client.consume(_NOTED_AT_ONCE, 0)  # here the client tells of its trouble
            self._check(error.args[0])
            self._check(self._trouble)
            self._wait(self._trouble or error.args[0])
        self._note_reply()
        return reply

    def _note_reply(self) -> None:
        self._heard, self._trouble, self.answered = time.monotonic(), None, True
        if self._away_since is not None:
            log.warning("%s answers again after %.0f s", self.name.servers, self._heard - self._away_since)
            self._away_since = None

    def _note_trouble(self, error: KafkaError) -> None:
        """The client calls this from within its own calls. Groups do not matter here: none is joined."""
        if error.name().startswith("GROUP_"):
            return
        if error.name() in _REFUSED or self._trouble is None or self._trouble.name() not in _REFUSED:
            self._trouble = error

    def _check(self, error: KafkaError | None) -> None:
        """Raises: InvalidWorkload: brokers refuse."""
        if error is not None and (why := _REFUSED.get(error.name())):
            raise InvalidWorkload(f"{self.name} {why} ({error.str()})")

    def _wait(self, error: KafkaError) -> NoReturn:
        """Note that brokers are away. Raises: BrokersAway. InvalidWorkload: they have been so for too long."""
        now, timeout = time.monotonic(), AWAY_TIMEOUT if self.answered else FIRST_REPLY_TIMEOUT
        if self._away_since is None:
            self._away_since = now
            log.warning("%s cannot be reached (%s); it is waited for up to %.0f s", self.name.servers, error.str(), timeout)
        if now - self._away_since <= timeout:
            raise BrokersAway(f"{self.name} cannot be reached: {error.str()}")
        hint = " A job with network: platform reaches the platform only." if door.is_used() else ""
        raise InvalidWorkload(
            f"{self.name} could not be reached for {timeout:.0f} s ({error.str()}). Each node that runs workers must reach these "
            f"addresses, and those that the brokers advertise.{hint}"
        )


def make_client(settings: Mapping[str, Any], on_trouble: Any = None) -> Consumer:
    """Raises: InvalidWorkload: the client is not installed; it does not take the settings."""
    try:
        from confluent_kafka import Consumer, KafkaException
    except ImportError:
        raise InvalidWorkload(
            "data.kafka reads with confluent-kafka, which is not installed here; on every node: pip install 'gradstream[kafka]'"
        ) from None
    try:
        return Consumer(dict(settings) | {"error_cb": on_trouble or (lambda error: None)}, logger=_client_log)
    except (KafkaException, TypeError, ValueError) as error:
        unknown = [name for name in settings if isinstance(error, KafkaException) and f'"{name}"' in str(error)]
        which = f"'{unknown[0]}'" if unknown else "one of them"  # the client's own words may show a value
        raise InvalidWorkload(f"kafka: the client does not take the settings: {which} is unknown, or has a wrong value") from None


_client_log = logging.getLogger("gradstream.data.kafka_topic.client")
_client_log.setLevel(logging.CRITICAL)  # what matters is raised, or noted by the connection in one line instead of hundreds

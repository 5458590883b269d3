"""Which worker learns which message of a Kafka topic, and in which order: laws, without a broker."""

from __future__ import annotations

import random
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gradstream import nn as gnn
from gradstream.data.kafka_topic.name import TopicMessage, TopicName
from gradstream.data.kafka_topic.order import PieceOrder
from gradstream.data.kafka_topic.pieces import PartitionPieces, TopicPiece
from gradstream.data.kafka_topic.topic import kafka
from gradstream.errors import InvalidWorkload

NEVER = 1e12
SIZE = 4


def partitions(count: int, rank: int = 0, workers: int = 1) -> list[PartitionPieces]:
    return [PartitionPieces(number, 0, 0, SIZE, (rank, workers)) for number in range(count)]


def log_of(chance: random.Random, length: int) -> list[tuple[int, int]]:
    """Offsets, some of which are missing, and times, which go back at times."""
    now, found = 1_000, []
    for offset in range(length):
        now += chance.randrange(10)
        if chance.random() < 0.8:
            found.append((offset, now - chance.randrange(15)))
    return found


def taken(of: list[PartitionPieces], order: PieceOrder) -> list[TopicPiece]:
    found = []
    while (first := order.find_next(of)) is not None:
        found.append(first.ready.popleft())
    return found


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_each_message_has_one_owner_wherever_a_worker_begins(workers: int) -> None:
    chance = random.Random(workers)
    log = [*log_of(chance, 196), (197, 10**6)]  # the last piece, from 196 on, is not whole
    whole = {offset for offset, _ in log if offset < 196}
    for number in (0, 1, 2):
        owned: list[int] = []
        for rank in range(workers):
            expected = [offset for offset, _ in log if (offset // SIZE + number) % workers == rank and offset in whole]
            begin = chance.randrange(50)
            of = PartitionPieces(number, begin, 0, SIZE, (rank, workers))
            for offset, time in log:
                if offset >= begin:
                    of.add(offset, time, b"")
            found = [message.offset for piece in of.ready for message in piece.messages]
            assert found == [offset for offset in expected if offset >= begin]
            assert all(piece.messages for piece in of.ready), "no mini-batch is empty"
            owned += expected
        assert sorted(owned) == sorted(whole)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_is_that_of_the_messages_however_they_arrive(seed: int) -> None:
    chance = random.Random(seed)
    logs = [log_of(chance, length) for length in (150, 40, 90)]  # uneven
    orders = []
    for _ in range(4):
        of, order, left, found = partitions(3, 1, 2), PieceOrder(NEVER), [list(log) for log in logs], []
        while any(left):
            number = chance.choice([number for number in range(3) if left[number]])
            of[number].add(*left[number].pop(0), b"")
            found += taken(of, order)
        orders.append(found)
    shortest = min(map(len, orders))
    assert shortest > 3
    assert all(found[:shortest] == orders[0][:shortest] for found in orders)
    keys = [(piece.time, piece.partition) for piece in max(orders, key=len)]
    assert keys == sorted(keys)
    for piece in orders[0]:
        until = [time for offset, time in logs[piece.partition] if offset < piece.end]
        assert piece.time == max(until)


def test_a_partition_without_messages_is_waited_for_as_long_as_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr("gradstream.data.kafka_topic.order.time", SimpleNamespace(monotonic=lambda: clock, time=lambda: 0.0))
    of, order = partitions(2), PieceOrder(5.0)
    for offset in range(SIZE):
        of[0].add(offset, 1_000, b"")
    assert order.find_next(of) is None, "the other one may have messages"
    of[1].end_at(0)
    assert order.find_next(of) is None
    clock = 4.9
    assert order.find_next(of) is None
    clock = 5.0
    assert order.find_next(of) is of[0]
    of[1].add(0, 1_000, b"")
    assert order.find_next(of) is of[0], "a later partition of the same time comes behind"


def test_an_offset_without_a_message_makes_a_mini_batch_smaller() -> None:
    [of] = partitions(1)
    of.add(0, 7, b"a")
    of.add(1, 8, None)  # a tombstone
    of.add(6, 9, b"b")
    assert [(piece.end, piece.time, [m.value for m in piece.messages]) for piece in of.ready] == [(4, 8, [b"a"])]
    of.end_at(21)  # transactions that were given up, say
    assert [(piece.end, piece.time) for piece in of.ready] == [(4, 8), (8, 9)]
    assert (of.offset, of.at_end) == (21, True)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"7", "it is no JSON object"),
        (b"{", "it is no JSON object"),
        (b"\xff", "it is no JSON object"),
        (b'{"a": 1}', "no field 'user'"),
    ],
)
def test_a_message_that_is_wrong_is_named(value: bytes, said: str) -> None:
    topic = kafka("here:9092", "clicks", ids=["user"])
    good = TopicMessage(3, 8, b'{"user": 7}')
    with pytest.raises(InvalidWorkload, match=rf"topic 'clicks' at here:9092, entry 9 of partition 3: .*{said}"):
        topic.decode([good, TopicMessage(3, 9, value)])


def test_values_keep_their_digits_and_texts_may_look_like_lists() -> None:
    topic = kafka("here:9092", "clicks", ["price", "size"], "click", ids=["user", "seen"], hashed=["query"])
    row = b'{"price": -3e2, "size": [1, 2.5], "click": 1, "user": 9223372036854775813, "seen": [9, -1], "query": "[red"}'
    batch = topic.decode([TopicMessage(0, 0, row), TopicMessage(0, 1, row.replace(b'"[red"', rb'"\u00e9"'))])
    assert batch["features"].tolist() == [[-300, 1, 2.5]] * 2
    assert batch["user"].tolist() == [5 - 2**63] * 2
    assert batch["seen"].ids.tolist() == [9, -1, 9, -1]
    assert batch["query"].tolist() == gnn.hashed(["[red", "é"], "query").tolist()


def test_wrong_arguments_are_refused(tmp_path: Any) -> None:
    (tmp_path / "settings").write_text("# ours\nsecurity.protocol=SSL-secret\nsasl.password=secret\n")
    (tmp_path / "odd").write_text("secret")
    given: list[tuple[dict[str, Any], str]] = [
        ({"servers": ""}, "servers are addresses"),
        ({"servers": "me:secret@here:9092"}, "accounts belong into settings"),
        ({"topic": ""}, "name the topic"),
        ({"ids": "user"}, r"kafka: give the names of fields as a list, ids=\['user'\]"),
        ({"start": {0: -1}}, "start has the first offset by partition"),
        ({"pass_size": 0}, "pass_size is a number of examples"),
        ({"idle": -1}, "idle is a number of seconds"),
        ({"settings": {"group.id": "mine"}}, "a group.id of its own; remove it"),
        ({"settings": {"sasl.pasword": "secret"}}, "'sasl.pasword' is unknown, or has a wrong value"),
        ({"settings": {"security.protocol": "secret"}}, "'security.protocol' is unknown, or has a wrong value"),
        ({"settings": tmp_path / "none"}, "cannot be read"),
        ({"settings": tmp_path / "odd"}, "line 1 of .* is not NAME=VALUE"),
        ({"settings": tmp_path / "settings"}, "does not take the settings"),
    ]
    for arguments, said in given:
        with pytest.raises(InvalidWorkload, match=said) as caught:
            kafka(**{"servers": "here:9092", "topic": "clicks", "ids": ["user"]} | arguments)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_trimming_is_left_to_retention() -> None:
    topic = kafka("here:9092", "clicks", ids=["user"])
    with pytest.raises(InvalidWorkload, match=r"topic 'clicks' at here:9092 is trimmed by its brokers only: set its retention\.ms"):
        topic.trim({0: 4})


def test_without_the_client_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(InvalidWorkload, match=r"pip install 'gradstream\[kafka\]'$"):
        kafka("here:9092", "clicks", ids=["user"])


def test_errors_name_topic_and_remedy() -> None:
    name = TopicName("clicks", "here:9092")
    assert "start={2: 900}" in str(name.removed(2, 10, 900))
    assert "start_from this one" in str(name.remade(2, 10, 3))
    assert "start_from this one" in str(name.deleted())

"""A Kafka topic that is followed, over the real protocol. `tests.kafka` says what its broker does not cover."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gradstream import data
from gradstream.data.kafka_topic import connection, leaders, reader
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.input.followed.topic import FollowedTopic
from tests.followed import spec
from tests.kafka import KafkaBroker
from tests.kafka_refusing import refusing_broker
from tests.support import eventually

BEGIN = 1_700_000_000.0
IDLE = 0.1
TOPIC_AUTHORIZATION_FAILED = 29


class Clicks:
    """A topic whose partition p has the users 1000 p, 1000 p + 1, and so on."""

    def __init__(self, broker: KafkaBroker, partitions: int = 3) -> None:
        self.broker, self.topic = broker, "clicks"
        broker.create(self.topic, partitions)
        self.added = [0] * partitions

    def add(self, *counts: int) -> None:
        for partition, count in enumerate(counts):
            users = range(self.added[partition], self.added[partition] + count)
            self.broker.add(self.topic, partition, ({"user": 1000 * partition + user} for user in users), at=BEGIN + users.start)
            self.added[partition] += count

    def opened(self, **more: Any) -> data.KafkaTopic:
        return data.kafka(self.broker.servers, self.topic, ids=["user"], **{"idle": IDLE} | more)

    def feed(self, rank: int = 0, workers: int = 1, *, job: dict[str, Any] | None = None, **more: Any) -> FollowedTopic:
        found = Batches(self.opened(**more), spec(workers, **job or {}), rank).followed
        assert isinstance(found, FollowedTopic)
        return found


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    made = KafkaBroker()
    yield made
    made.stop()


@pytest.fixture
def clicks(broker: KafkaBroker) -> Clicks:
    return Clicks(broker)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks and retries are due soon."""
    monkeypatch.setattr(reader, "_LOOK_EVERY", 0.5)
    monkeypatch.setattr(reader, "_LOOK_SOON", 0.0)
    monkeypatch.setattr(reader, "_GONE_FOR", 0.2)
    monkeypatch.setattr(reader, "_COUNT_EVERY", 0.0)
    monkeypatch.setattr(connection, "_RETRY_INTERVAL", 0.0)


def users(of: FollowedTopic, first: int = 0) -> list[list[int]]:
    """The mini-batches that are there, from this position on."""
    found = []
    while comes(of, first):
        batch, examples = of.take(first)
        assert examples == len(batch["user"])
        found.append(batch["user"].tolist())
        first += 1
    return found


def comes(of: FollowedTopic, position: int) -> bool:
    """Return whether this mini-batch is there when all messages have come."""
    eventually(lambda: of.has(position) or has_read_all(of) or None, "all messages")
    if not of.has(position):
        time.sleep(IDLE)  # until partitions without messages are passed over
    return of.has(position)


def has_read_all(of: FollowedTopic) -> bool:
    ends = {each: of._reader._connection.bounds(each.partition)[1] for each in of._reader._partitions if not each.ready}
    return all(each.offset >= end for each, end in ends.items())


def all_of(batches: list[list[int]]) -> list[int]:
    return sorted(user for batch in batches for user in batch)


def test_a_mini_batch_is_there_when_its_piece_is_whole(clicks: Clicks) -> None:
    one = clicks.feed()
    assert not one.has(0)
    clicks.add(3, 9)
    assert users(one) == [[1000, 1001, 1002, 1003], [1004, 1005, 1006, 1007]]
    assert one.behind(2) == 4
    clicks.add(1)
    assert users(one, 2) == [[0, 1, 2, 3]]
    assert one.place() == ((4, int(BEGIN * 1000) + 3000), (8, int(BEGIN * 1000) + 7), (0, 0))
    assert users(clicks.feed()) == [[1000, 1001, 1002, 1003], [1004, 1005, 1006, 1007], [0, 1, 2, 3]], "by time"


@pytest.mark.more
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_share_all_pieces_whenever_they_look_and_wherever_they_resume(clicks: Clicks, workers: int) -> None:
    clicks.add(22, 9, 40)
    ranks = [clicks.feed(rank, workers) for rank in range(workers)]
    found = []
    for one in ranks:
        found.append(users(one))
        clicks.add(7, 0, 5)
    for rank, one in enumerate(ranks):
        found[rank] += users(one, len(found[rank]))
    expected = [1000 * partition + user for partition, added in enumerate(clicks.added) for user in range(added // 4 * 4)]
    assert all_of([batch for batches in found for batch in batches]) == expected
    for rank, batches in enumerate(found):
        one = clicks.feed(rank, workers)
        for position in range(0, len(batches) - 1, 10):
            while len(users_taken := one.place()) == 0 or one._taken < position:
                one.take(one._taken)
            resumed, loaded = clicks.feed(rank, workers), clicks.feed(rank, workers)
            resumed.go_to(one._taken, users_taken)
            loaded.load(one.state())
            rest = users(resumed, one._taken)
            assert rest == users(loaded, one._taken), "a place and a state say the same"
            assert all_of(rest) == all_of(batches[one._taken :])


def test_partitions_that_are_added_are_followed_from_their_begin(broker: KafkaBroker) -> None:
    clicks = Clicks(broker, 1)
    one = clicks.feed(0, 2), clicks.feed(1, 2)
    clicks.add(8)
    assert [users(each) for each in one] == [[[0, 1, 2, 3]], [[4, 5, 6, 7]]]
    places = [each.place() for each in one]
    broker.delete("clicks")
    clicks = Clicks(broker, 2)  # this broker cannot add one
    clicks.add(8, 8)
    resumed = [clicks.feed(rank, 2) for rank in range(2)]
    for each, place in zip(resumed, places, strict=True):
        each.go_to(1, place)
    assert [users(each, 1) for each in resumed] == [[[1004, 1005, 1006, 1007]], [[1000, 1001, 1002, 1003]]]
    assert all(len(each.place()) == 2 for each in resumed)


def test_a_pass_and_a_round_have_whole_mini_batches(clicks: Clicks) -> None:
    job = {"strategy": {"name": "local_sgd", "window": 3}, "stop": {"steps": 7}}
    one = clicks.feed(pass_size=16, job=job)
    assert [one.pass_of(position) for position in range(6)] == [0, 0, 0, 0, 1, 1]
    clicks.add(11)
    assert not comes(one, 0), "two of three"
    clicks.add(1)
    assert comes(one, 0)


def test_offsets_without_messages_are_passed(clicks: Clicks, broker: KafkaBroker) -> None:
    writer = broker.producer(transactional_id="clicks", enable_idempotence=True)
    writer.init_transactions(10)
    for user in range(5):
        writer.begin_transaction()
        for part in (0, 1):
            writer.produce("clicks", value=b'{"user": %d}' % (2 * user + part), partition=0)
        writer.flush(10)
        writer.commit_transaction(10)
    broker.add("clicks", 0, [None])
    assert users(clicks.feed()) == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]], "each two have a marker behind them"


def test_retention_may_delete_what_was_learned_and_nothing_else(clicks: Clicks, broker: KafkaBroker) -> None:
    clicks.add(40)
    one = clicks.feed()
    for position in range(3):
        one.take(position)
    broker.delete_records("clicks", 0, 12)
    resumed = clicks.feed()
    resumed.go_to(3, one.place())
    assert users(resumed, 3)[0] == [12, 13, 14, 15]
    broker.delete_records("clicks", 0, 15)
    late = clicks.feed()
    late.go_to(3, one.place())
    with pytest.raises(InvalidWorkload, match=r"partition 0 begins with offset 15 now, and offset 12 .* start=\{0: 15\}"):
        late.has(3)
    assert users(clicks.feed(start={0: 16}))[0] == [16, 17, 18, 19]
    assert users(clicks.feed())[0] == [15], "a new job begins with what is there"


def test_messages_that_are_deleted_under_a_reader_are_an_error(
    clicks: Clicks, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_AT_ONCE", 4)
    one = clicks.feed(settings={"fetch.message.max.bytes": 1000, "queued.max.messages.kbytes": 1})
    clicks.add(2000)
    one.take(0)
    broker.delete_records("clicks", 0, 1990)
    with pytest.raises(InvalidWorkload, match="partition 0 begins with offset 1990 now"):
        users(one, 1)


def test_a_topic_that_was_made_anew_or_deleted_is_an_error(clicks: Clicks, broker: KafkaBroker) -> None:
    clicks.add(40)
    one, resumed = clicks.feed(), clicks.feed()
    taken = len(users(one))
    broker.delete("clicks")

    def said() -> str | None:
        try:
            one.has(taken)
        except InvalidWorkload as error:
            return str(error)
        return None

    assert "it was deleted while a job follows it" in eventually(said, "a topic that is gone")
    broker.create("clicks", 3)
    resumed.go_to(taken, one.place())
    with pytest.raises(InvalidWorkload, match=r"ends at offset 0, and messages up to 40 were read already: the topic was made"):
        resumed.has(taken)


def test_a_topic_that_was_made_anew_with_as_many_messages_is_told_by_its_id(clicks: Clicks, broker: KafkaBroker) -> None:
    clicks.add(8)
    one, resumed = clicks.feed(), clicks.feed()
    one.take(0)
    state = one.state()
    broker.delete("clicks")
    again = Clicks(broker)
    again.add(40)
    resumed.load(state)
    with pytest.raises(InvalidWorkload, match=r"is another one than that whose messages were read: .* start_from this one"):
        resumed.has(1)
    one.take(1)  # it is in memory
    position = 2

    def said() -> str | None:
        """New messages may come before the next look at the topic, which is due when there are no more."""
        nonlocal position
        try:
            while one.has(position):
                one.take(position)
                position += 1
        except InvalidWorkload as error:
            return str(error)
        return None

    assert "is another one than" in eventually(said, "a look at the topic")


def test_a_broker_that_goes_away_is_waited_for(
    clicks: Clicks, broker: KafkaBroker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(connection, "_NOTED_AFTER", 0.5)
    one = clicks.feed()
    clicks.add(4)
    assert users(one) == [[0, 1, 2, 3]]
    broker.go_down()
    eventually(lambda: (not one.has(1) and "it is waited for up to 600 s" in caplog.text) or None, "a broker that is away")
    eventually(lambda: one.is_unreachable or None, "a topic out of reach")
    broker.come_up()
    clicks.add(4)
    eventually(lambda: one.has(1) or None, "a broker that is back")
    assert users(one, 1) == [[4, 5, 6, 7]]
    assert not one.is_unreachable
    assert "answers again after" in caplog.text


@pytest.mark.more
def test_a_partition_without_a_leader_is_named_until_it_has_one(
    clicks: Clicks, broker: KafkaBroker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(leaders, "_NOTED_AFTER", 0.5)
    one = clicks.feed()
    clicks.add(4, 4, 4)
    assert len(users(one)) == 3
    broker.deny_leader("clicks", 1, replies=20)
    eventually(lambda: (not one.has(3) and one.leaderless == (1,)) or None, "a partition without a leader")
    assert f"partition 1 of the topic 'clicks' at {broker.servers} has no leader that answers; it is waited for" in caplog.text
    clicks.add(4)
    eventually(lambda: one.has(3) or None, "others go on")
    assert one.take(3)[0]["user"].tolist() == [4, 5, 6, 7]
    eventually(lambda: (not one.has(4) and not one.leaderless) or None, "its leader is back")
    clicks.add(0, 4)
    assert users(one, 4) == [[1004, 1005, 1006, 1007]]
    assert "has a leader again after" in caplog.text


def test_a_job_begins_when_all_partitions_have_a_leader(clicks: Clicks, broker: KafkaBroker) -> None:
    clicks.add(4, 4, 4)
    broker.deny_leader("clicks", 2, replies=3)
    one = clicks.feed()
    assert not one.has(0)
    found = []
    for position in range(3):
        eventually(lambda position=position: one.has(position) or None, "a leader")  # type: ignore[misc]
        found.append(one.take(position)[0]["user"].tolist())
    assert all_of(found) == [0, 1, 2, 3, 1000, 1001, 1002, 1003, 2000, 2001, 2002, 2003]


@pytest.mark.more
def test_the_wait_for_a_leader_ends(clicks: Clicks, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaders, "_NOTED_AFTER", 0.0)
    monkeypatch.setattr(leaders, "LEADER_TIMEOUT", 2.0)
    one = clicks.feed()
    clicks.add(4, 4)
    assert len(users(one)) == 2
    broker.deny_leader("clicks", 1, replies=100)

    def said() -> str | None:
        try:
            one.has(2)
        except InvalidWorkload as error:
            return str(error)
        return None

    message = eventually(said, "the end of the wait")
    assert message.startswith(f"the topic 'clicks' at {broker.servers}: partition 1 had no leader that answers for 2 s. Bring its")


def test_the_wait_for_a_broker_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "FIRST_REPLY_TIMEOUT", 0.0)
    monkeypatch.setattr(connection, "REPLY_TIMEOUT", 0.3)
    settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "secret"}
    topic = data.kafka("127.0.0.1:1", "clicks", ids=["user"], settings=settings)
    one = FollowedTopic(topic, spec(), 0)
    assert not one.has(0)
    with pytest.raises(InvalidWorkload, match=r"could not be reached for 0 s .*Each node that runs workers must reach") as caught:
        one.has(0)
    assert "secret" not in str(caught.value)


def test_a_wrong_account_is_refused_at_once() -> None:
    settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "secret"}
    with refusing_broker() as servers:
        one = FollowedTopic(data.kafka(servers, "clicks", ids=["user"], settings=settings), spec(), 0)
        with pytest.raises(InvalidWorkload, match=rf"'clicks' at {servers} refuses the account; correct sasl\.mechanism") as caught:
            eventually(lambda: one.has(0) or None, "the refusal")
    assert "no such user" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_refusals_say_what_to_do(clicks: Clicks, broker: KafkaBroker) -> None:
    clicks.add(4)
    broker.fail_with("clicks", TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(InvalidWorkload, match=r"topic 'clicks' at .* needs the operations Describe and Read on the topic"):
        clicks.feed().has(0)
    broker.fail_with("clicks", 0)
    assert users(clicks.feed()) == [[0, 1, 2, 3]]
    with pytest.raises(InvalidWorkload, match=r"is out of reach, as network: platform"):
        clicks.feed(job={"network": "platform"})
    with pytest.raises(InvalidWorkload, match=r"is at mini-batch 0 of worker 0, and number 3 is not found by counting"):
        clicks.feed().take(3)


def test_a_partition_far_ahead_is_held(clicks: Clicks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_AT_ONCE", 8)
    clicks.add(400, 0, 0)
    one = clicks.feed(idle=3600)
    clicks.added[1] = 500
    clicks.add(0, 40)
    found = users(one)
    assert all_of(found) == [*range(400), *range(1500, 1540)]
    assert found == sorted(found), "the younger ones behind"
    assert not one._reader._held


def test_elsewhere_it_is_a_stream_of_what_is_there(clicks: Clicks, broker: KafkaBroker) -> None:
    clicks.add(5, 3)
    broker.delete_records("clicks", 0, 2)
    assert [int(example["user"]) for example in clicks.opened(start={1: 1})] == [2, 3, 4, 1001, 1002]
    assert [user for piece in clicks.opened().pieces(4) for user in piece["user"].tolist()] == [1001, 1002]

"""A stream in a real Redis that is followed: numbers of entries, trimming, streams made anew, and a Redis that goes away."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
import redis
import torch

from gradstream import data
from gradstream.data.redis_stream import connection, reader
from gradstream.data.redis_stream.reader import StreamReader
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.input.followed.stream import FollowedStream
from gradstream.local.servers.redis import Redis
from tests.followed import spec


def url_of(server: Redis) -> str:
    """With the password, as users have it."""
    where = server.url.removeprefix("unix://")
    if where != server.url:
        return f"unix://:{quote(server.password)}@{where}"
    return server.url.replace("redis://", f"redis://:{quote(server.password)}@")


class Clicks:
    """A stream whose entry number n has the user n."""

    def __init__(self, server: Redis, key: str | None = None) -> None:
        self.url, self.key = url_of(server), key or f"clicks-{uuid.uuid4().hex}"
        self.redis = redis.Redis.from_url(self.url)
        self.added = 0

    def add(self, count: int) -> None:
        pipe = self.redis.pipeline()
        for number in range(self.added, self.added + count):
            pipe.xadd(self.key, {"user": number}, id=f"{number // 3 + 1}-{number % 3}")  # three in each millisecond
        pipe.execute()
        self.added += count

    def trim(self, count: int) -> None:
        """Remove so many entries at the front."""
        self.redis.xtrim(self.key, maxlen=self.redis.xlen(self.key) - count, approximate=False)

    def opened(self, **more: Any) -> data.RedisStream:
        return data.redis_stream(self.url, self.key, ids=["user"], **more)

    def feed(
        self, rank: int = 0, workers: int = 1, *, batch: int = 4, job: dict[str, Any] | None = None, **more: Any
    ) -> FollowedStream:
        found = Batches(self.opened(**more), spec(workers, batch, **job or {}), rank).followed
        assert isinstance(found, FollowedStream)
        return found


@pytest.fixture
def clicks(shared_redis: Redis) -> Iterator[Clicks]:
    made = Clicks(shared_redis)
    yield made
    made.redis.delete(made.key)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look is due whenever one is wanted, and commands fetch few entries, so that there are many."""
    monkeypatch.setattr(reader, "_EVERY", 0.0)
    monkeypatch.setattr(reader, "_COUNT_EVERY", 0.0)
    monkeypatch.setattr(connection, "_RETRY_INTERVAL", 0.0)
    monkeypatch.setattr(reader, "_AT_ONCE", 7)
    monkeypatch.setattr(reader, "_PASSED_AT_ONCE", 5)


def train_one(of: FollowedStream, position: int) -> Any:
    """Take a mini-batch and train it."""
    batch, examples = of.take(position)
    assert examples == len(batch["user"])
    of.begin(position)
    return batch


def users(of: FollowedStream, first: int = 0) -> list[list[int]]:
    """The mini-batches that are there, from this position on."""
    found = []
    while of.has(first):
        found.append(train_one(of, first)["user"].tolist())
        first += 1
    return found


def test_a_mini_batch_is_there_when_it_is_whole(clicks: Clicks) -> None:
    one = clicks.feed()
    assert not one.has(0), "there is no stream yet"
    clicks.add(3)
    assert not one.has(0)
    clicks.add(7)
    assert users(one) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [one.behind(position) for position in (0, 1, 2)] == [10, 6, 2]
    clicks.add(2)
    assert users(one, 2) == [[8, 9, 10, 11]]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_share_each_block_whenever_they_look_and_wherever_they_resume(clicks: Clicks, workers: int) -> None:
    clicks.add(20)
    found: list[list[list[int]]] = [[] for _ in range(workers)]
    ranks = [clicks.feed(rank, workers) for rank in range(workers)]
    for rank in range(workers):
        found[rank] = users(ranks[rank])
        clicks.add(11)
    for rank, one in enumerate(ranks):
        found[rank] += users(one, len(found[rank]))
    trained = clicks.added // (4 * workers) * 4 * workers
    assert sorted(user for batches in found for batch in batches for user in batch) == list(range(trained))
    assert len({len(batches) for batches in found}) == 1
    for rank, batches in enumerate(found):
        for position in reversed(range(len(batches))):
            again = clicks.feed(rank, workers)
            train_one(again, position)
            state, resumed = again.state(), clicks.feed(rank, workers)
            resumed.load(state)
            assert users(resumed, position + 1) == batches[position + 1 :], "with a state, as in a checkpoint"
            assert users(clicks.feed(rank, workers), position) == batches[position:], "and without one"


def test_a_checkpoint_says_what_was_trained_and_not_what_was_taken_ahead(clicks: Clicks) -> None:
    clicks.add(20)
    one, resumed = clicks.feed(), clicks.feed()
    taken = [one.take(position)[0]["user"].tolist() for position in range(4)]
    assert one.state() == {}
    one.begin(0)
    one.begin(1)
    assert one.state()["number"] == 7
    clicks.trim(7)
    resumed.load(one.state())
    assert [resumed.take(position)[0]["user"].tolist() for position in (2, 3)] == taken[2:]
    assert resumed.state() == one.state(), "of the mini-batch that was trained before"


def test_a_pass_has_whole_mini_batches_of_all_workers(clicks: Clicks) -> None:
    one = clicks.feed(0, 2, pass_size=17)
    assert [one.pass_of(position) for position in range(7)] == [0, 0, 0, 1, 1, 1, 2], "three blocks of eight"
    assert [one.begins_stretch(position) for position in range(4)] == [True] * 4, "with sync a round is one mini-batch"
    assert clicks.feed(job={"data": {"length": 5}}).pass_of(2) == 1, "the job file goes before the data set"


def test_a_round_of_several_mini_batches_is_there_as_a_whole(clicks: Clicks) -> None:
    job = {"strategy": {"name": "local_sgd", "window": 3}, "stop": {"steps": 7}}
    one = clicks.feed(pass_size=16, job=job)
    clicks.add(11)
    assert not one.has(0)
    clicks.add(1)
    assert [one.has(position) for position in (0, 1, 2, 3)] == [True, True, True, False]
    clicks.add(4)
    assert one.has(3), "a pass ends here"
    assert [one.begins_stretch(position) for position in range(8)] == [True, False, False, True, True, False, False, True]
    clicks.add(8)
    assert not one.has(4)
    clicks.add(4)
    assert one.has(4)
    assert one.has(6), "the last one of the job"


def test_entries_behind_a_worker_may_be_trimmed(clicks: Clicks) -> None:
    clicks.add(40)
    one, resumed = clicks.feed(), clicks.feed()
    assert [train_one(one, position)["user"].tolist()[0] for position in range(5)] == [0, 4, 8, 12, 16]
    clicks.trim(20)
    resumed.load(one.state())
    clicks.add(4)
    for each in (one, resumed, clicks.feed()):
        assert [batch[0] for batch in users(each, 5)] == [20, 24, 28, 32, 36, 40]
    assert clicks.opened().trim(33) == 13
    assert clicks.redis.xrange(clicks.key)[0][1] == {b"user": b"33"}
    assert clicks.opened().trim(30) == 0
    assert clicks.opened().trim(clicks.added) == 10
    assert clicks.redis.xlen(clicks.key) == 1, "so its ids and numbers go on"
    with pytest.raises(InvalidWorkload, match=r"has had 44 entries, so none can be trimmed up to number 45"):
        clicks.opened().trim(45)


def test_entries_that_were_trimmed_too_early_are_an_error(clicks: Clicks) -> None:
    clicks.add(60)
    one, state = clicks.feed(), clicks.feed()
    train_one(one, 0)
    train_one(state, 0)
    clicks.trim(30)
    assert one.has(1), "it is in memory"
    said = r"begins with entry number 30 now, and number {} is still to be learned: .* start=30"
    with pytest.raises(InvalidWorkload, match=said.format(8)):
        users(one, 1)
    resumed = clicks.feed()
    resumed.load(state.state())
    for each in (resumed, clicks.feed()):
        with pytest.raises(InvalidWorkload, match=said.format(4)):
            each.has(1)
    assert users(clicks.feed(start=30))[0] == [30, 31, 32, 33]


def test_a_stream_that_was_made_anew_is_an_error(clicks: Clicks) -> None:
    clicks.add(10)
    one, far = clicks.feed(), clicks.feed()
    train_one(one, 0)
    state = one.state()
    users(far)
    clicks.redis.delete(clicks.key)
    said = "are not those that were read: it was deleted, made anew, or lost entries"
    with pytest.raises(InvalidWorkload, match=said):
        far.has(2)
    clicks.add(30)
    resumed = clicks.feed()
    resumed.load(state)
    with pytest.raises(InvalidWorkload, match=said):
        resumed.has(1)
    with pytest.raises(InvalidWorkload, match=said):
        far.has(2)
    with pytest.raises(InvalidWorkload, match=r"has had 30 entries. Those before number 40 are not"):
        clicks.feed().has(10)


def test_entries_that_were_deleted_in_the_midst_are_an_error(clicks: Clicks) -> None:
    clicks.add(20)
    one = clicks.feed()
    one.take(0)
    clicks.redis.xdel(clicks.key, "5-1")
    for each in (one, clicks.feed()):
        with pytest.raises(InvalidWorkload, match="entries in its midst were deleted"):
            users(each, 1)
    clicks.trim(14)
    assert users(clicks.feed(start=16)) == [[16, 17, 18, 19]], "numbers are sure again behind it"


def test_a_redis_that_goes_away_is_waited_for(redis_server: Callable[..., Redis], caplog: pytest.LogCaptureFixture) -> None:
    server = redis_server(tcp=True)
    clicks = Clicks(server)
    one = clicks.feed()
    clicks.add(4)
    assert users(one) == [[0, 1, 2, 3]]
    clicks.redis.shutdown(nosave=True)
    assert not one.has(1)
    assert one.behind(1) == 0
    assert "cannot be reached" in caplog.text
    server.stop()
    server.start()
    server.wait()
    clicks.added = 0
    with pytest.raises(InvalidWorkload, match="it was deleted, made anew, or lost entries"):  # this server keeps nothing on disk
        one.has(1)
    assert "answers again after" in caplog.text
    assert server.password not in caplog.text


def test_a_redis_that_answers_again_is_read_on(
    redis_server: Callable[..., Redis], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "READ_TIMEOUT", 0.2)
    monkeypatch.setattr(connection, "_NOTED_AFTER", 0.0)
    clicks = Clicks(redis_server(tcp=True))
    one = clicks.feed()
    clicks.add(11)
    assert one.take(0)[0]["user"].tolist() == [0, 1, 2, 3]
    process = clicks.redis.info("server")["process_id"]
    os.kill(process, signal.SIGSTOP)
    try:
        assert not one.is_unreachable
        assert not one.has(2), "the worker stays at the boundary"
        assert one.is_unreachable
        assert "it is waited for up to 600 s" in caplog.text
    finally:
        os.kill(process, signal.SIGCONT)
    clicks.add(1)
    assert users(one, 1) == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert "answers again after" in caplog.text


def test_the_wait_for_a_redis_ends(redis_server: Callable[..., Redis], monkeypatch: pytest.MonkeyPatch) -> None:
    server = redis_server(tcp=True)
    clicks = Clicks(server)
    clicks.redis.shutdown(nosave=True)
    monkeypatch.setattr(connection, "FIRST_REPLY_TIMEOUT", 0.0)
    one = clicks.feed()
    assert not one.has(0)
    with pytest.raises(
        InvalidWorkload, match=r"could not be reached for 0 s .*Each node that runs workers must reach this"
    ) as caught:
        one.has(0)
    assert server.password not in str(caught.value)
    with pytest.raises(InvalidWorkload, match="cannot be reached"):
        list(clicks.opened())


def test_refusals_say_what_to_do(clicks: Clicks, shared_redis: Redis) -> None:
    clicks.redis.set(clicks.key, "text")
    with pytest.raises(InvalidWorkload, match=r"the key 'clicks-.*' at unix:///.* is not a stream"):
        clicks.feed().has(0)
    wrong = clicks.url.replace(quote(shared_redis.password), "guessed")
    with pytest.raises(InvalidWorkload, match=r"refuses the account .*; correct it in the URL") as caught:
        StreamReader(wrong, clicks.key).fetch(0, 1)
    assert "guessed" not in str(caught.value)
    clicks.redis.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "~clicks*", "+xrange", "+multi", "+exec")
    with pytest.raises(InvalidWorkload, match=r"may not do this .* It needs \+xinfo\|stream \+xrange"):
        StreamReader(clicks.url.replace(f":{quote(shared_redis.password)}@", "reader:pw@"), clicks.key).fetch(0, 1)
    clicks.redis.execute_command("ACL", "DELUSER", "reader")


def test_an_account_needs_only_a_few_rights(clicks: Clicks, shared_redis: Redis) -> None:
    rights = ("%R~clicks*", "+xinfo|stream", "+xrange", "+xrevrange", "+multi", "+exec")
    clicks.redis.execute_command("ACL", "SETUSER", "reader", "on", ">pw", *rights)
    clicks.add(30)
    one = StreamReader(clicks.url.replace(f":{quote(shared_redis.password)}@", "reader:pw@"), clicks.key)
    assert one.fetch(24, 3)
    assert [entry.fields for entry in one.take(3)] == [[b"user", b"%d" % user] for user in (24, 25, 26)]
    with pytest.raises(InvalidWorkload, match=r"may not do this .*\+xtrim"):
        one.trim(9)
    clicks.redis.execute_command("ACL", "DELUSER", "reader")


def test_wrong_arguments_are_refused() -> None:
    for url in ("clicks.example.org:6379", "http://here", "redis://me:pass/word@here:6379"):
        with pytest.raises(InvalidWorkload, match="the url of redis_stream is none of") as caught:
            data.redis_stream(url, "clicks", ids=["user"])
        assert "word" not in str(caught.value).replace("password", "")
        assert caught.value.__suppress_context__
    given: list[tuple[dict[str, Any], str]] = [
        ({"ids": "user"}, r"ids=\['user'\]"),
        ({}, "name the fields that the model gets"),
        ({"ids": ["user"], "start": -1}, "start is the number of an entry"),
        ({"ids": ["user"], "pass_size": 0}, "pass_size is a number of examples"),
        ({"ids": ["user"], "label": "user"}, "two entries of one name among user, user"),
        ({"ids": ["user"], "label_dtype": torch.float16}, "label_dtype is torch.float32 or torch.int64"),
        ({"ids": ["user"], "key": ""}, "name the stream's key"),
    ]
    for arguments, said in given:
        with pytest.raises(InvalidWorkload, match=said):
            data.redis_stream(**{"url": "redis://here", "key": "clicks"} | arguments)
    stream = data.redis_stream("rediss://me:secret@here:7000/2", "clicks", ids=["user"])
    assert str(stream.name) == "the stream 'clicks' at rediss://here:7000/2"
    with pytest.raises(InvalidWorkload, match=r"at rediss://here:7000/2 is out of reach, as network: platform"):
        Batches(stream, spec(network="platform"), 0)
    with pytest.raises(InvalidWorkload, match=r"remove data.prefetch and data.processes"):
        Batches(stream, spec(data={"prefetch": 2}), 0)
    with pytest.raises(InvalidWorkload, match=r"stop.epochs counts passes over data whose length is not known"):
        Batches(stream, spec(stop={"epochs": 1}), 0)


def test_elsewhere_it_is_a_stream_of_what_is_there(clicks: Clicks) -> None:
    clicks.add(20)
    clicks.trim(3)
    assert [int(example["user"]) for example in clicks.opened(start=5)] == list(range(5, 20))
    with pytest.raises(InvalidWorkload, match="has no mini-batch number 5 for worker 0 yet, and only a job waits for it"):
        clicks.feed(start=5).take(5)

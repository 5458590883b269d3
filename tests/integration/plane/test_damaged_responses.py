"""Messages that are junk, damaged or lost: rejected and resent, so that nothing hangs and every bit is the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.errors import PlaneLost
from gradstream.shard_server.response_messages import ResponseMessages
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire.redis import keys
from gradstream.wire.transport import response_inbox
from gradstream.wire.transport.messages import FIELD
from gradstream.wire.transport.pipe import ResponsePipeWriter
from tests.integration.plane.cluster import Cluster

Make = Callable[..., Cluster]
SPEC = job({"name": "sync", "lr": 0.1}, workers=2, shards=2, steps=8)


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=20_011)


@pytest.fixture(scope="module")
def undisturbed() -> torch.Tensor:
    return sim.run(SPEC, bowl, align=4096).center


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_inbox, "RETRY_INTERVAL", 0.05)
    monkeypatch.setattr(response_inbox, "RESEND_TIMEOUT", 0.3)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "junk", [{FIELD: b"junk"}, {FIELD: b"[]"}, {FIELD: b"\xff"}, {FIELD: b'[9,[0,0,1,"ok",1,1,1]]'}, {b"x": b"junk"}], ids=str
)
def test_what_is_no_message_is_read_over(cluster: Make, undisturbed: torch.Tensor, junk: dict[Any, Any]) -> None:
    attempt = cluster(SPEC, bowl)

    def write_it(rank: int, w: Replica) -> None:
        attempt.admin.xadd(keys.responses(attempt.j, w.t % 2, rank, 0), junk)

    attempt.before_round = write_it
    assert torch.equal(attempt.run(), undisturbed)


@pytest.mark.few(1)
@pytest.mark.parametrize("instead", [b"junk", b""], ids=["damaged", "lost"])
def test_a_message_in_redis_that_is_damaged_or_lost_comes_again(
    cluster: Make, undisturbed: torch.Tensor, monkeypatch: pytest.MonkeyPatch, instead: bytes
) -> None:
    write, places = ResponseMessages._write, iter(range(1_000))

    def spoil(messages: ResponseMessages, stamped: list[tuple[str, bytes]]) -> None:
        found = [(key, message if next(places) % 5 else instead) for key, message in stamped]
        write(messages, [(key, message) for key, message in found if message])

    monkeypatch.setattr(ResponseMessages, "_write", spoil)
    assert torch.equal(cluster(SPEC, bowl).run(), undisturbed)


def test_a_port_counts_its_retransmissions(cluster: Make, pipes: Callable[[Cluster, int, bytes], None]) -> None:
    attempt = cluster(job({"name": "sync", "lr": 0.1}, workers=1, shards=1, steps=4), bowl, local=(0,))
    attempt.thread(attempt.serve, 0)
    link, w, port, _ = attempt.link(0)
    while not w.done and link.begin():
        if w.t == 1:
            pipes(attempt, 0, b"x")
        attempt.spec.strategy.round(w, link)
    link.leave()
    attempt.finish()
    assert port.retransmissions.count


@pytest.fixture
def pipes() -> Iterator[Callable[[Cluster, int, bytes], None]]:
    """Writes bytes into the pipe of a worker's first incarnation."""
    handles: list[int] = []

    def write(attempt: Cluster, rank: int, data: bytes) -> None:
        assert attempt.shared
        folder = attempt.shared.of(attempt.j)
        assert folder
        handles.append(os.open(Path(folder) / f"{rank}.0.responses", os.O_WRONLY | os.O_NONBLOCK))
        os.write(handles[-1], data)

    yield write
    for handle in handles:
        os.close(handle)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "junk", [b"x", b"\x04\x00\x01\x00junk", b"\x04\x00\x63\x00junk", b"\xff\xff\x00\x00", b"\x00\x00\x00\x00", b"{}" * 99], ids=str
)
def test_what_is_no_message_in_a_pipe_is_thrown_away(
    cluster: Make, undisturbed: torch.Tensor, pipes: Callable[[Cluster, int, bytes], None], junk: bytes
) -> None:
    attempt = cluster(SPEC, bowl, local=(0, 1))
    attempt.before_round = lambda rank, w: pipes(attempt, rank, junk)
    assert torch.equal(attempt.run(), undisturbed)


@pytest.mark.more
@pytest.mark.parametrize("local", [(0, 1), (1,)], ids=["both", "one"])
def test_a_message_in_a_pipe_that_is_damaged_comes_again(
    cluster: Make, undisturbed: torch.Tensor, monkeypatch: pytest.MonkeyPatch, local: tuple[int, ...]
) -> None:
    put, places = ResponsePipeWriter.put, iter(range(1_000))
    monkeypatch.setattr(
        ResponsePipeWriter, "put", lambda slot, message: put(slot, message if next(places) % 5 else message[: len(message) // 2])
    )
    assert torch.equal(cluster(SPEC, bowl, local=local).run(), undisturbed)


def test_messages_that_nobody_can_read_end_the_attempt(cluster: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_inbox, "MAX_RETRIES", 3)
    write = ResponseMessages._write
    monkeypatch.setattr(ResponseMessages, "_write", lambda messages, stamped: write(messages, [(key, b"?") for key, _ in stamped]))
    attempt = cluster(SPEC, bowl)
    attempt.start()
    for thread in attempt.threads[SPEC.roles.server.shards :]:
        thread.join(30)
        assert not thread.is_alive(), "it still waits"
    assert [type(error) for error in attempt.errors] == [PlaneLost, PlaneLost]
    said = str(attempt.errors[0])
    assert said.startswith("a message from shard ")
    assert "and no resend came" in said

"""A job without servers that goes on when a worker is lost has the bits of one with servers and the same losses."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream import sim
from gradstream.center.shard import Shard
from gradstream.errors import PlaneLost
from gradstream.process.order import Resume
from gradstream.serverless.holder.client_port import ClientPort
from gradstream.serverless.holder.port import HolderPort
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.transport.shm import Shared, SharedMemoryError
from tests.integration.plane.cluster import AnyPort, Cluster, Killed
from tests.integration.plane.test_serverless import ADAM, CASES, WORKERS, bowl, run_with_a_checkpoint, spec_of, without_servers
from tests.support import TIMEOUT, eventually

LOST, JOINED = 2, 4
"""The round in which worker 2 is lost, and the one in which its next incarnation joins."""
WITH_LOSSES = ["sync", "sync with adam", "sync with int8", "local_sgd with averaged adam", "diloco", "easgd", "geo"]


def spec_with_losses(case: dict[str, Any], **more: Any) -> JobSpec:
    return spec_of(case | {"on_worker_loss": "continue"}, shards=1, **more)


@pytest.mark.few(4)
@pytest.mark.parametrize("case", CASES)
def test_an_undisturbed_job_has_the_bits_of_one_with_servers(case: str, cluster: Callable[..., Cluster]) -> None:
    expected = sim.run(spec_of(CASES[case]), bowl, align=4096).center
    assert torch.equal(without_servers(cluster, spec_with_losses(CASES[case])).run(), expected)


def _spoil_vector(port: AnyPort) -> None:
    """Do as a process that is lost while it writes its vector."""
    if isinstance(port, ClientPort) and port.out is not None:
        port.out[::3] = torch.nan


def _die_after_a_ring(port: ClientPort) -> None:
    """Be lost when the next entries have rung."""
    hand_over = port._hand_over

    def hand_over_and_die() -> None:
        has_entries = bool(port._outgoing)
        hand_over()
        if has_entries:
            raise Killed

    port._hand_over = hand_over_and_die  # type: ignore[method-assign]


class Losses:
    """Worker 2 is lost in the round `LOST`. It joins in the round `JOINED`, while worker 1 computes, and takes part from the next
    one on."""

    def __init__(self, attempt: Cluster, *, pushes: bool) -> None:
        """`pushes`: worker 2 is lost when it has pushed. A job with servers loses it before it begins its next round."""
        self._attempt, self._pushes = attempt, pushes
        self._rounds = Counter[int]()
        attempt.before_round = self._before_round

    def run(self) -> Tensor:
        attempt = self._attempt
        for rank in range(0 if attempt.serverless else attempt.spec.shards):
            attempt.thread(attempt.serve, rank)
        for rank in range(WORKERS):
            attempt.thread(self._live, rank)
        return attempt.finish()

    def _live(self, rank: int) -> None:
        try:
            self._attempt.work(rank)
        except Killed:
            if self._pushes:
                eventually(lambda: self._version >= LOST, "the round closes with the push of the lost worker")
            plane.post_leave(self._attempt.admin, self._attempt.j, rank, 0)

    def _before_round(self, rank: int, w: Replica) -> None:
        self._rounds[rank] += 1
        number = self._rounds[rank]
        port = self._attempt.ports[rank]
        if rank == 2 and self._pushes and isinstance(port, ClientPort):
            if number == LOST:
                _die_after_a_ring(port)
        elif rank == 2 and number == LOST + self._pushes:
            _spoil_vector(port)
            raise Killed
        if rank == 1 and number == JOINED:
            self._attempt.thread(self._attempt.work, 2, 1)
            eventually(lambda: 2 in self._shard.members, "the newcomer has joined")

    @property
    def _shard(self) -> Shard:
        port = self._attempt.ports[0]
        return port.shard if isinstance(port, HolderPort) else self._attempt.servers[0].shard

    @property
    def _version(self) -> int:
        assert self._shard.center is not None
        return self._shard.center.version


@pytest.mark.few(4)
@pytest.mark.parametrize("pushes", [False, True], ids=["before its push", "after its push"])
@pytest.mark.parametrize("case", WITH_LOSSES)
def test_survivors_and_newcomers_have_the_bits_of_a_job_with_servers(
    case: str, pushes: bool, cluster: Callable[..., Cluster]
) -> None:
    strategy = CASES[case]["strategy"]
    window = {"window": 3} if strategy["name"] in ("easgd", "geo") else {}  # so that there are more rounds
    spec = spec_with_losses(CASES[case] | {"strategy": strategy | window}, steps=30)
    beside = Losses(cluster(spec, bowl, local=range(1)), pushes=pushes).run()
    assert torch.isfinite(beside).all()
    assert not torch.equal(beside, sim.run(spec, bowl, align=4096).center), "the loss matters"
    assert torch.equal(Losses(without_servers(cluster, spec), pushes=pushes).run(), beside)


def test_a_superseded_worker_that_still_lives_is_fenced(cluster: Callable[..., Cluster]) -> None:
    attempt = without_servers(cluster, spec_with_losses(CASES["sync"]))
    is_superseded = threading.Event()

    def supersede(rank: int, w: Replica) -> None:
        port = attempt.ports[rank]
        if rank == 2 and w.t == 3 and not is_superseded.is_set():
            is_superseded.set()
            plane.post_leave(attempt.admin, attempt.j, 2, 0)
            eventually(lambda: 2 not in attempt.ports[0].shard.members, "the others know that it is lost")
            attempt.thread(attempt.work, 2, 1)
            eventually(lambda: attempt.ports[2] is not port, "the next incarnation")

    attempt.before_round = supersede
    attempt.start()
    attempt.watch()
    for thread in attempt.threads:
        thread.join(TIMEOUT)
    assert [type(error) for error in attempt.errors] == [PlaneLost]
    assert "superseded" in str(attempt.errors[0])
    accounts = plane.ledger(attempt.admin, attempt.j)
    assert [(accounts[rank].applied, accounts[rank].dropped) for rank in range(WORKERS)] == [(13, 0), (13, 0), (13, 1)]


def test_the_holder_serves_on_when_it_is_stopped(cluster: Callable[..., Cluster]) -> None:
    attempt = without_servers(cluster, spec_with_losses(CASES["sync"], steps=60))

    def stop_worker_0(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 5:
            plane.control_stop(attempt.admin, attempt.j, "a test", rank=0)

    attempt.before_round = stop_worker_0
    attempt.run()
    accounts = plane.ledger(attempt.admin, attempt.j)
    assert accounts[0].applied < accounts[1].applied == accounts[2].applied == 60


def test_another_incarnation_waits_for_the_memory_of_the_last(
    cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt, make = without_servers(cluster, spec_with_losses(CASES["sync"], steps=60)), Shared.make
    refused = list[str]()

    def make_later(folder: Path, rank: int, incarnation: int, *more: Any) -> Shared:
        if incarnation and not refused:
            refused.append("once")
            raise SharedMemoryError("1 MB cannot be allocated")
        return make(folder, rank, incarnation, *more)

    monkeypatch.setattr(Shared, "make", make_later)
    Losses(attempt, pushes=False).run()
    assert refused == ["once"]


@pytest.mark.parametrize("t", [0, 5])
def test_all_end_when_the_attempt_is_closed(t: int, cluster: Callable[..., Cluster]) -> None:
    attempt = without_servers(cluster, spec_with_losses(CASES["sync"], steps=100_000))

    def lose_worker_0(rank: int, w: Replica) -> None:
        if rank == 0 and w.t == t:
            plane.destroy(attempt.admin, attempt.j)  # as after the death of worker 0, which answers none any more
            raise SystemExit

    attempt.before_round = lose_worker_0
    attempt.start()
    eventually(lambda: not any(thread.is_alive() for thread in attempt.threads), "all workers end")
    ends = [type(error) for error in attempt.errors]
    assert sorted(ends, key=str) == sorted([SystemExit, PlaneLost, PlaneLost], key=str)


@pytest.mark.more
def test_a_checkpoint_is_resumed_with_a_server_or_without(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    spec = spec_with_losses({"strategy": {"name": "sync", "lr": 0.02}, "optimizer": ADAM}, steps=300)
    first = without_servers(cluster, spec, folder=tmp_path / "a")
    whole = run_with_a_checkpoint(first)
    again = {"folder": tmp_path / "a", "job": first.job, "resume": Resume(attempt=1, checkpoint=1)}
    assert torch.equal(without_servers(cluster, spec, number=2, **again).run(), whole)
    assert torch.equal(cluster(spec, bowl, local=range(1), number=3, **again).run(), whole)

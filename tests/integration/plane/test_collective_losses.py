"""A job without servers over gloo that goes on when a worker is lost has the numbers of one with servers and the same losses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream.center.entries import EVALUATOR, Leave
from gradstream.errors import PlaneLost
from gradstream.process.order import Resume
from gradstream.serverless.collective.group import GroupBroken
from gradstream.serverless.collective.handover import Turn
from gradstream.serverless.collective.roster import Meetings
from gradstream.serverless.collective.surviving_port import SurvivingPort
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.gpu.connecting import Connecting
from gradstream.wire.transport.messages import Header
from tests.integration.plane.cluster import Cluster, Killed
from tests.integration.plane.test_collective import ALLOWED, Uneven, run_with_a_checkpoint, spec_of
from tests.integration.plane.test_serverless import CASES
from tests.support import TIMEOUT, eventually


@pytest.mark.few(4)
@pytest.mark.parametrize("workers", [3, 1])
@pytest.mark.parametrize("case", ALLOWED)
def test_an_undisturbed_job_has_the_bits_of_one_that_restarts(case: str, workers: int, cluster: Callable[..., Cluster]) -> None:
    expected = cluster(spec_of(CASES[case], workers), Uneven, gloo=True).run()
    attempt = cluster(spec_of(CASES[case] | {"on_worker_loss": "continue"}, workers), Uneven, gloo=True)
    assert torch.equal(attempt.run(), expected)
    for rank in range(workers):
        assert torch.equal(attempt.ports[rank].shard.center.theta, expected), "all workers hold the same bits"


@pytest.mark.more
def test_a_checkpoint_is_resumed_with_restart_or_a_server(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    case = CASES["sync with adam"] | {"on_worker_loss": "continue"}
    first = cluster(spec_of(case, 3, steps=200), Uneven, folder=tmp_path, gloo=True)
    whole = run_with_a_checkpoint(first)
    again = {"folder": tmp_path, "job": first.job, "resume": Resume(attempt=1, checkpoint=1)}
    assert torch.equal(cluster(spec_of(case, 3, steps=200), Uneven, number=2, gloo=True, **again).run(), whole)
    restarts = spec_of(CASES["sync with adam"], 3, steps=200)
    assert torch.equal(cluster(restarts, Uneven, number=3, gloo=True, **again).run(), whole)
    torch.testing.assert_close(cluster(restarts, Uneven, number=4, **again).run(), whole, rtol=1e-5, atol=1e-6)


def test_a_superseded_worker_that_still_lives_ends(cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(spec_of(CASES["sync"] | {"on_worker_loss": "continue"}, 3), Uneven, gloo=True)
    is_superseded = threading.Event()

    def supersede(rank: int, w: Replica) -> None:
        if rank == 2 and w.t == 3 and not is_superseded.is_set():
            is_superseded.set()
            plane.post_leave(attempt.admin, attempt.j, 2, 0)
            attempt.thread(attempt.work, 2, 1)
            eventually(lambda: attempt.ports[0]._roster.number, "the others have met without it")

    attempt.before_round = supersede
    attempt.start()
    attempt.watch()
    for thread in attempt.threads:
        thread.join(TIMEOUT)
    assert [type(error) for error in attempt.errors] == [PlaneLost]
    assert "worker 2.0 counts as lost" in str(attempt.errors[0])
    accounts = plane.ledger(attempt.admin, attempt.j)
    assert [(accounts[rank].applied, accounts[rank].dropped) for rank in range(3)] == [(13, 0)] * 3


def test_workers_whose_connection_failed_as_others_were_lost_go_on(
    cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worker 2 is killed three times in a row while gloo connects it, and gloo tells the others that their connections failed."""
    attempt = cluster(spec_of(CASES["sync"] | {"on_worker_loss": "continue"}, 3), Uneven, gloo=True)
    incarnation, take, come = 0, Connecting.take, Meetings.come

    def live() -> None:
        nonlocal incarnation
        while True:
            try:
                return attempt.work(2, incarnation)
            except Killed:
                incarnation += 1

    def come_and_report(meetings: Meetings, number: int, turn: int) -> None:
        """The log calls an incarnation lost when the next one is there, so no meeting takes place without worker 2."""
        come(meetings, number, turn)
        if meetings._rank == 2 and meetings._incarnation:
            plane.post_leave(attempt.admin, attempt.j, 2, meetings._incarnation - 1)

    def take_or_fail(connecting: Connecting[Any], look: Callable[[float], None], look_interval: float) -> object:
        if incarnation < 3:
            raise Killed if threading.current_thread() is doomed else RuntimeError("Connection refused")
        return take(connecting, look, look_interval)

    monkeypatch.setattr(Connecting, "take", take_or_fail)
    monkeypatch.setattr(Meetings, "come", come_and_report)
    doomed = attempt.thread(live)
    for rank in range(2):
        attempt.thread(attempt.work, rank)
    attempt.finish()
    assert incarnation == 3
    accounts = plane.ledger(attempt.admin, attempt.j)
    assert [(accounts[rank].applied, accounts[rank].dropped) for rank in range(3)] == [(13, 0)] * 3


def test_a_worker_that_is_cut_off_in_the_last_turn_ends_with_the_others(
    cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others have handled that turn, so they give it to worker 1, and take none after it."""
    attempt = cluster(spec_of(CASES["sync"] | {"on_worker_loss": "continue"}, 3), Uneven, gloo=True)
    exchange, cut_off = SurvivingPort._exchange_vectors, threading.Event()

    def exchange_or_break(port: SurvivingPort, turn: Turn) -> tuple[Turn, list[torch.Tensor]]:
        entries = [header.entry for packed in turn.entries if (header := Header.unpack(packed))]
        if port is attempt.ports[1] and Leave(EVALUATOR, 0, "done") in entries and not cut_off.is_set():
            cut_off.set()
            raise GroupBroken("a test")
        return exchange(port, turn)

    monkeypatch.setattr(SurvivingPort, "_exchange_vectors", exchange_or_break)
    center = attempt.run()
    assert cut_off.is_set()
    for rank in range(3):
        assert attempt.ports[rank].shard.ended
        assert torch.equal(attempt.ports[rank].shard.center.theta, center), "all workers hold the same bits"


def test_a_worker_that_starts_again_when_the_job_is_over_ends(cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(spec_of(CASES["sync"] | {"on_worker_loss": "continue"}, 3), Uneven, gloo=True)
    attempt.run()
    plane.post_leave(attempt.admin, attempt.j, 2, 0)
    again = attempt.thread(attempt.work, 2, 1)
    again.join(TIMEOUT)
    assert not again.is_alive(), attempt.stacks()
    assert not attempt.errors

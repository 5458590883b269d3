"""Workers over gloo that go on are lost in each state of a turn and of a meeting: nothing is half applied, nothing hangs."""

from __future__ import annotations

import itertools
import math
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from gradstream.center.entries import Buffers, Entry, Init, Output, Payload, Push
from gradstream.center.shard import Shard
from gradstream.serverless.collective.group import GlooGroup, GroupBroken
from gradstream.serverless.collective.handover import Handover
from gradstream.serverless.collective.roster import Meetings
from gradstream.serverless.collective.surviving_port import SurvivingPort
from gradstream.shard_server.hosted_shard import HostedShard
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.strategies.fedprox import FedProx
from gradstream.training.problem import Gradient
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.transport.messages import Header
from tests.integration.plane.cluster import Cluster, Killed
from tests.integration.plane.test_overlap import Gathering, small_buckets

__all__ = ["small_buckets"]
WORKERS, STEPS = 3, 8
STATES = 20
"""States that a worker passes in a start and in each round, about."""


class Precise(Gathering):
    """The noise of a mini-batch depends on its number only, so that another incarnation draws the same. Buckets go ahead. The
    buffers are those of the last mini-batch."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank)
        self.theta, self._curvature, self._slope = self.theta.double(), self._curvature.double(), self._slope.double()
        self._rank, self.per_epoch = rank, 2
        self._statistics = Buffers(torch.zeros(3, dtype=torch.float64), torch.zeros(1, dtype=torch.int64))

    def gradient(self, position: int) -> Gradient:
        self._generator.manual_seed(1000 * position + self._rank)
        floats = torch.tensor([position, self._rank, 0.1 * position * self._rank], dtype=torch.float64)
        self._statistics = Buffers(floats, torch.tensor([position + 1]))
        return super().gradient(position)

    def buffers(self) -> Buffers:
        return self._statistics


class Fate(NamedTuple):
    states: int
    """States that a worker passes before."""
    error: type[BaseException]
    """Killed, or GroupBroken: it is cut off at the end of its next exchange with the others."""


class Fates:
    """Lets the thread of a worker pass so many states, and ends what it does in the next one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._mine = threading.local()
        of_group = ((GlooGroup, name) for name in ("_gather_rows", "begin_sum", "finish", "broadcast", "part"))
        of_meeting = ((Meetings, name) for name in ("come", "attend", "put", "get"))
        of_turn = ((SurvivingPort, name) for name in ("_handle", "_enter", "_exchange_vectors"))
        for owner, name in (*of_group, *of_meeting, *of_turn, (Handover, "shard"), (Handover, "turn")):
            monkeypatch.setattr(owner, name, self._with_states(getattr(owner, name), exchanges=owner is GlooGroup))

    def give(self, fates: Sequence[Fate]) -> None:
        """To this thread: one after the other."""
        self._mine.fates = list(fates)
        self._mine.passed = 0

    def _pass(self, *, cuts: bool) -> None:
        if not (fates := getattr(self._mine, "fates", [])):
            return
        self._mine.passed += 1
        if self._mine.passed > fates[0].states and (cuts or fates[0].error is Killed):
            self._mine.passed = 0
            raise fates.pop(0).error("a test")

    def _with_states(self, function: Callable[..., Any], *, exchanges: bool) -> Callable[..., Any]:
        def wrapped(*args: Any, **more: Any) -> Any:
            self._pass(cuts=False)
            done = function(*args, **more)
            self._pass(cuts=exchanges)
            return done

        return wrapped


class Recording:
    """The entries that worker 0 has handled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entries: list[Entry] = []
        handle = HostedShard.handle_entry

        def handle_recorded(hosted: HostedShard, position: str, header: Header) -> Output:
            self.entries.append(header.entry)
            return handle(hosted, position, header)

        monkeypatch.setattr(HostedShard, "handle_entry", handle_recorded)

    def replay(self, spec: JobSpec) -> Shard:
        """Handle them again as a server does, with gradients at the centers that the pushes name."""
        shard, centers = Shard(spec), dict[int, Tensor]()
        for entry in self.entries:
            shard.handle(entry, self._payload_of(entry, spec, centers))
            if shard.center:
                centers.setdefault(shard.center.version, shard.center.theta.clone())
        return shard

    def _payload_of(self, entry: Entry, spec: JobSpec, centers: dict[int, Tensor]) -> Payload | None:
        if not isinstance(entry, Init | Push):
            return None
        problem = Precise(spec, entry.rank)
        if isinstance(entry, Init):
            return Payload(problem.theta, problem.buffers())
        assert isinstance(entry.position, int)
        positions = range(entry.position - entry.steps, entry.position)
        return Payload(pushed(spec, problem, centers[entry.base], positions), problem.buffers())


def pushed(spec: JobSpec, problem: Precise, center: Tensor, positions: range) -> Tensor:
    """Return the push of a worker that begins at this center."""
    strategy, x = spec.strategy, center.clone()
    for position in positions:
        problem.theta = x
        g = problem.gradient(position).g
        if strategy.name == "sync":
            return g
        x = x - strategy.lr * (g + strategy.mu * (x - center) if isinstance(strategy, FedProx) else g)
    return (center - x) / (len(positions) if strategy.name == "adag" else 1)


def disconnect(port: object) -> None:
    """Close the connections of a worker, as the end of its process does."""
    if isinstance(port, SurvivingPort):
        port._group.abandon()


def draw_fates(draw: random.Random, states: int, errors: Sequence[type[BaseException]]) -> list[Fate]:
    return [Fate(draw.randrange(states), draw.choice(errors)) for _ in range(draw.randrange(3))]


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(40))
def test_a_loss_in_any_state_leaves_whole_rounds(
    seed: int, cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_workers({"strategy": {"name": "sync", "lr": 0.05}, "optimizer": {"name": "adam"}}, seed, cluster, monkeypatch)


WINDOWS: dict[str, dict[str, Any]] = {
    "adag": {"strategy": {"name": "adag", "lr": 0.05, "window": 3}, "gate": "bsp"},
    "local_sgd": {"strategy": {"name": "local_sgd", "lr": 0.05, "window": 3}},
    "diloco": {"strategy": {"name": "diloco", "lr": 0.05, "window": 3}},
    "fedavg": {"strategy": {"name": "fedavg", "lr": 0.05}},
    "fedprox": {"strategy": {"name": "fedprox", "lr": 0.05, "mu": 0.1}},
}


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(100, 108))
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_local_steps_are_whole_after_losses(
    name: str, seed: int, cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_workers(WINDOWS[name], seed, cluster, monkeypatch)


def lose_workers(case: dict[str, Any], seed: int, cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    more = {key: value for key, value in case.items() if key != "strategy"}
    spec = job(case["strategy"], workers=WORKERS, shards=1, steps=STEPS, on_worker_loss="continue", **more)
    attempt = cluster(spec, Precise, gloo=True)
    fates, recording = Fates(monkeypatch), Recording(monkeypatch)
    pushes = math.ceil(STEPS / (spec.strategy.steps_per_push(epoch=2) or 1))
    states = (2 + pushes) * STATES
    plans = {0: draw_fates(draw, states, [GroupBroken])}
    plans |= {rank: draw_fates(draw, states, [Killed, GroupBroken]) for rank in range(1, WORKERS)}
    closes = draw.random() < 0.5

    def live(rank: int) -> None:
        fates.give(plan := plans[rank])
        for incarnation in itertools.count():
            try:
                return attempt.work(rank, incarnation)
            except Killed:
                left = len(fates._mine.fates)
                fates.give([])
                if closes:
                    disconnect(attempt.ports.get(rank))
                plane.post_leave(attempt.admin, attempt.j, rank, incarnation)
                fates.give(plan[len(plan) - left :])

    def ask_for_checkpoints(rank: int, w: Replica) -> None:
        if rank == 0 and w.t in checkpoints:
            plane.control_checkpoint(attempt.admin, attempt.j, 1 + checkpoints.index(w.t))

    checkpoints = sorted(draw.sample(range(STEPS), draw.randrange(4)))
    attempt.before_round = ask_for_checkpoints
    for rank in range(WORKERS):
        attempt.thread(live, rank)
    center = attempt.finish()
    shard = attempt.ports[0].shard
    accounts = {rank: (account.pushed, account.applied, account.dropped) for rank, account in shard.ledger.accounts.items()}
    assert accounts == {rank: (pushes, pushes, 0) for rank in range(WORKERS)}, "each mini-batch counts once"
    replayed = recording.replay(spec)
    assert replayed.center is not None
    assert replayed.ledger.accounts == shard.ledger.accounts
    torch.testing.assert_close(center, replayed.center.theta, rtol=1e-9, atol=1e-9)
    assert buffers_of(shard)[1] > 0
    assert buffers_of(shard) == pytest.approx(buffers_of(replayed))
    for rank in range(1, WORKERS):
        port = attempt.ports[rank]
        assert isinstance(port, SurvivingPort)
        if port.shard.ended:
            assert port.shard.center is not None
            assert torch.equal(port.shard.center.theta, center), "all workers hold the same bits"
            assert buffers_of(port.shard) == buffers_of(shard)


def buffers_of(shard: Shard) -> list[float]:
    assert shard.center is not None
    assert shard.center.buffers is not None
    floats, ints = shard.center.buffers.value()
    return [*floats.tolist(), *ints.tolist()]

"""Where a law is run. One test body, two drivers: the simulator, and the real plane over Redis, to which entries are admitted
in the order that the simulator has found for them, so that both must come to the same numbers."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest
from torch import Tensor

from gradstream import sim
from gradstream.center.entries import EVALUATOR, Entry, Output, Payload, Response
from gradstream.center.ledger import Account, Decision
from gradstream.center.parameters.center import Center
from gradstream.center.parameters.updates import PushUpdate, PushUpdates
from gradstream.center.shard import Shard
from gradstream.codecs.coding import Residual
from gradstream.sim.toys import Toy
from gradstream.spec import JobSpec
from gradstream.training.problem import Problem
from gradstream.wire.port import RedisPort
from tests.integration.plane.cluster import Cluster

Make = Callable[[JobSpec, int], Problem]
TIMEOUT = 30.0
"""Seconds that an entry waits for its turn: more than any law takes."""


@dataclass(frozen=True)
class Seen:
    """One push, as the shard saw it: copies."""

    rank: int
    x: Tensor
    response: Tensor | None
    staleness: int
    steps: int
    examples: int


@dataclass(frozen=True)
class Fold:
    """What counted together, and the center before and after it."""

    before: Tensor
    after: Tensor
    updates: list[Seen]


@dataclass
class Run:
    center: Tensor
    version: int
    samples: int
    evaluated: Tensor
    """What an evaluator is given at the end."""
    accounts: dict[int, Account]
    decisions: list[Decision]
    folds: list[Fold]
    workers: dict[int, Tensor]
    """The parameters of each worker at the end."""

    @property
    def staleness(self) -> list[int]:
        return [decision.staleness for decision in self.decisions if decision.outcome != "dropped"]

    @property
    def moves(self) -> list[Tensor]:
        """By what each fold changed the center."""
        return [fold.after - fold.before for fold in self.folds]


class Driver(Protocol):
    name: str

    def run(self, spec: JobSpec, problem: Make = Toy, *, free: bool = False, **how: Any) -> Run:
        """To the end of the data. `how` is the schedule, seed and speeds of the simulation. With `free`, entries reach the real
        log in whatever order threads come: for laws that hold in any."""


class Watch:
    """Looks over the shoulder of the first shard, whoever drives it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        handle, apply_updates = Shard.handle, Center.apply_updates
        self.clear()

        def watched_handle(shard: Shard, entry: Entry, payload: Payload | None = None, *destination: Any) -> Output:
            first = self._first(shard)
            if first and entry_rank(entry) not in (None, EVALUATOR):
                self.order.append(entry.rank)  # type: ignore[union-attr]
            output = handle(shard, entry, payload, *destination)
            if first:
                self.decisions += output.decisions
            return output

        def watched_updates(center: Center, us: PushUpdates) -> bool:
            before = center.theta.clone()
            changed = apply_updates(center, us)
            if self.shard is not None and center is self.shard.center:
                self.folds.append(Fold(before, center.theta.clone(), [_seen(u) for u in us]))
            return changed

        monkeypatch.setattr(Shard, "handle", watched_handle)
        monkeypatch.setattr(Center, "apply_updates", watched_updates)

    def clear(self) -> None:
        self.shard: Shard | None = None
        self.order: list[int] = []
        """The ranks of all entries, in the order of the log."""
        self.decisions: list[Decision] = []
        self.folds: list[Fold] = []

    def _first(self, shard: Shard) -> bool:
        self.shard = self.shard or shard
        return shard is self.shard

    def run(self, evaluated: Tensor | None, center: Tensor | None, problems: dict[int, Problem]) -> Run:
        """What a driver does not know by itself is the first shard's."""
        assert self.shard is not None
        last = self.shard.center
        assert last is not None, "training has begun"
        evaluated = last.read_for_evaluation().x.clone() if evaluated is None else evaluated
        center = last.theta.clone() if center is None else center
        accounts = dict(self.shard.ledger.accounts)
        workers = {rank: problem.theta.clone() for rank, problem in sorted(problems.items())}
        return Run(center, last.version, last.samples, evaluated, accounts, self.decisions, self.folds, workers)


def entry_rank(entry: Entry) -> int | None:
    return getattr(entry, "rank", None)


def _seen(u: PushUpdate) -> Seen:
    return Seen(u.rank, u.x.clone(), None if u.response is None else u.response.clone(), u.staleness, u.steps, u.examples)


def _kept(problem: Make) -> tuple[Make, dict[int, Problem]]:
    kept: dict[int, Problem] = {}

    def make(spec: JobSpec, rank: int) -> Problem:
        made = problem(spec, rank)
        return kept.setdefault(rank, made) if rank != EVALUATOR else made

    return make, kept


@dataclass
class Simulator:
    watch: Watch
    name: str = "simulator"

    def run(self, spec: JobSpec, problem: Make = Toy, *, free: bool = False, **how: Any) -> Run:
        make, problems = _kept(problem)
        self.watch.clear()
        if free:
            how = {"schedule": "random", **how}
        done = sim.run(spec, make, **how)
        return self.watch.run(None, done.center, problems)


@dataclass
class OverRedis:
    watch: Watch
    cluster: Callable[..., Cluster]
    name: str = "redis"

    def run(self, spec: JobSpec, problem: Make = Toy, *, free: bool = False, **how: Any) -> Run:
        self.watch.clear()
        turns = order = None
        if not free:
            sim.run(spec, problem, **how)
            turns = Turns(deque(self.watch.order))
            order = self.watch.order
            self.watch.clear()
        make, problems = _kept(problem)
        attempt = self.cluster(spec, make)
        if turns:
            _take_turns(attempt, turns)
        evaluated = attempt.run(TIMEOUT)
        assert order is None or self.watch.order == order, "entries reached the log in the order of the simulator"
        return self.watch.run(evaluated, None if spec.evaluate.average else evaluated, problems)


@dataclass
class Turns:
    """Admits entries to the log in this order of ranks, whoever is ready first."""

    order: deque[int]
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def of(self, rank: int) -> Iterator[None]:
        with self._changed:
            mine = self._changed.wait_for(lambda: bool(self.order) and self.order[0] == rank, TIMEOUT)
            assert mine, f"an entry of worker {rank} came that the simulator did not have; it expects {list(self.order)[:5]}"
            yield
            self.order.popleft()
            self._changed.notify_all()


@dataclass
class InTurn:
    """A port whose entries wait for their turn."""

    port: RedisPort
    rank: int
    turns: Turns

    @property
    def out(self) -> Tensor | None:
        return self.port.out

    @property
    def centers(self) -> list[Tensor]:
        return self.port.centers

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        with self.turns.of(self.rank):
            self.port.send(entry, payload, residual)
            self.port.confirm()  # what is only posted may be overtaken by the next one's

    @property
    def can_send_ahead(self) -> bool:
        return self.port.can_send_ahead

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        self.port.send_ahead(seq, x, start)

    def receive(self) -> Response:
        return self.port.receive()


def _take_turns(attempt: Cluster, turns: Turns) -> None:
    make = attempt.port

    def port(rank: int, incarnation: int, w: Any) -> Any:
        made = make(rank, incarnation, w)
        return made if rank == EVALUATOR else InTurn(made, rank, turns)

    attempt.port = port  # type: ignore[method-assign]

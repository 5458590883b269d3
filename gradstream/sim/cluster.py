"""The cluster: a greenlet per worker, one heap of what reaches the log next, and the shards.

    worker --send--> heap, ordered by (time, kind, rank) --> log --> shards --> answers --> workers that wait --> run

A worker runs only until it sends or waits, and computing takes no real order: so nothing depends on who runs first.
"""

from __future__ import annotations

import heapq
import random
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import greenlet

from gradstream.center.entries import Entry, Init, Join, Leave, Payload, Pull, Push, Saved, Snapshot
from gradstream.center.ledger import Decision
from gradstream.sim.center import Settled, ShardedCenter
from gradstream.sim.port import SimPort
from gradstream.sim.result import Cut, Result
from gradstream.sim.service import Schedule, ServiceTimes
from gradstream.spec import JobSpec
from gradstream.worker.link import Link
from gradstream.worker.loop import train
from gradstream.worker.problem import Problem
from gradstream.worker.replica import Replica

FromWorker = Init | Join | Push | Pull | Saved | Leave


class Stuck(Exception):
    """Workers wait and nothing is on its way to the log."""


@dataclass(frozen=True)
class Death:
    """A worker is lost right after the push number `event` of all, and what it was computing with it."""

    event: int
    rank: int
    respawn: bool = True


class Due(NamedTuple):
    """An entry on its way to the log."""

    time: float
    kind: int
    """At the same time, pushes come behind what takes no time, and leaves behind pushes."""
    rank: int
    order: int
    entry: FromWorker
    payload: Payload | None


@dataclass
class Worker:
    incarnation: int
    port: SimPort
    thread: greenlet.greenlet


def run(
    spec: JobSpec, problem: Callable[[JobSpec, int], Problem], *, events: int | None = None, cuts: Collection[int] = (),
    schedule: Schedule = "round-robin", seed: int | None = None, speeds: Sequence[float] = (), duplicates: float = 0.0,
    deaths: Collection[Death] = (), align: int = 1, resume: Cut | None = None,
) -> Result:  # fmt: skip
    """Train `problem(spec, rank)` on spec.roles.worker.count workers and spec.roles.server.count shards.

    Ends when all workers have left, or after `events` pushes. A cut is asked for after each of the pushes in `cuts`, and
    goes by that number. `seed` (default: the job's) is for the schedule only; `duplicates` is the share of entries that
    reach the log twice. With `resume`, events are counted on from the cut.
    Raises: Stuck; ShardsDisagree; whatever a problem raises."""
    seed = spec.seed if seed is None else seed
    times = ServiceTimes(schedule, spec.roles.worker.count, seed, speeds)
    simulation = Simulation(spec, problem, times, align, random.Random(f"{seed}/duplicates"), duplicates)
    try:
        simulation.start(resume)
        simulation.go_on(events, set(cuts), deaths)
        return simulation.result()
    finally:
        simulation.end()


class Simulation:
    """One run; see `run`."""

    def __init__(
        self, spec: JobSpec, problem: Callable[[JobSpec, int], Problem], times: ServiceTimes, align: int,
        repeat: random.Random, duplicates: float,
    ) -> None:  # fmt: skip
        self._spec, self._problem, self._times, self._align = spec, problem, times, align
        self._repeat, self._duplicates = repeat, duplicates
        self._workers: dict[int, Worker] = {}
        self._heap: list[Due] = []
        self._ready: deque[int] = deque()
        self._now = 0.0
        self._order = self._events = 0
        self._saved: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._cuts: dict[int, Cut] = {}
        self._decisions: list[Decision] = []
        self._losses: dict[int, list[float]] = defaultdict(list)

    def start(self, resume: Cut | None) -> None:
        problems = [self._problem(self._spec, rank) for rank in range(self._spec.roles.worker.count)]
        self._center = ShardedCenter(self._spec, problems[0].theta.numel(), self._align)
        if resume:
            self._center.load(resume.shards)
            self._times.load(resume.service)
            self._now, self._events = resume.time, resume.events
        for rank, problem in enumerate(problems):
            self._spawn(rank, 0, problem, resume.workers.get(rank) if resume else None, proposes=rank == 0 and not resume)

    def go_on(self, events: int | None, cuts: set[int], deaths: Collection[Death]) -> None:
        while events is None or self._events < events:
            if self._ready:
                self._run(self._ready.popleft())
            elif self._heap:
                self._next(cuts, deaths)
            else:
                break
        else:
            return
        if waiting := sorted(rank for rank, worker in self._workers.items() if not worker.thread.dead):
            raise Stuck(f"workers {waiting} wait for an answer at time {self._now:g}, and nothing is on its way to the log")

    def end(self) -> None:
        """Unwind what the workers were in the middle of."""
        for worker in self._workers.values():
            if not worker.thread.dead:
                worker.thread.throw(greenlet.GreenletExit)

    def result(self) -> Result:
        first = self._center.shards[0]
        assert first.center is not None, "rank 0 has proposed theta_0 when the first push comes"
        return Result(
            self._center.theta(), first.center.version, first.center.samples, self._events, self._now, self._decisions,
            dict(first.ledger.accounts), dict(self._losses), self._cuts, self._center.state(),
        )  # fmt: skip

    # ---- workers --------------------------------------------------------------------------------------------------------

    def _spawn(self, rank: int, incarnation: int, problem: Problem, resumed: dict[str, Any] | None, *, proposes: bool) -> None:
        """A new life of a rank, which runs up to its first entry."""
        port = SimPort(lambda entry, payload: self._post(rank, entry, payload))
        replica = Replica(self._spec, problem, lambda t, loss: self._losses[rank].append(loss))

        def save(cut: int, state: dict[str, Any]) -> None:
            self._saved[cut][rank] = state

        link = Link(self._spec, port, replica, rank, incarnation, save)
        theta = Payload(problem.theta, replica.buffers()) if proposes else None

        def live() -> None:
            link.join(theta, resumed)
            train(self._spec.strategy, replica, link)
            link.leave()

        self._workers[rank] = Worker(incarnation, port, greenlet.greenlet(live))
        self._run(rank)

    def _run(self, rank: int) -> None:
        self._workers[rank].thread.switch()

    def _kill(self, death: Death) -> None:
        """What it was about to send never reaches the log; the agent sees it exit, and the control plane may respawn it."""
        worker = self._workers[death.rank]
        if worker.thread.dead:
            return
        worker.thread.throw(greenlet.GreenletExit)
        self._heap = [due for due in self._heap if due.rank != death.rank]
        heapq.heapify(self._heap)
        if death.rank in self._ready:
            self._ready.remove(death.rank)
        self._feed(Leave(death.rank, worker.incarnation, "lost"))
        if death.respawn:
            self._spawn(death.rank, worker.incarnation + 1, self._problem(self._spec, death.rank), None, proposes=False)

    # ---- the log --------------------------------------------------------------------------------------------------------

    def _post(self, rank: int, entry: Entry, payload: Payload | None) -> None:
        assert isinstance(entry, FromWorker)
        takes = self._times.draw(rank) if isinstance(entry, Push) else 0.0
        kind = 1 if isinstance(entry, Push) else 2 if isinstance(entry, Leave) else 0
        self._order += 1
        heapq.heappush(self._heap, Due(self._now + takes, kind, rank, self._order, entry, payload))

    def _next(self, cuts: set[int], deaths: Collection[Death]) -> None:
        """The next entry reaches the log, and its sender goes on."""
        due = heapq.heappop(self._heap)
        self._now = due.time
        self._feed(due.entry, due.payload)
        if self._duplicates and self._repeat.random() < self._duplicates:
            self._feed(due.entry, due.payload)
        self._ready.append(due.rank)
        if isinstance(due.entry, Push):
            self._events += 1
            if self._events in cuts:
                self._feed(Snapshot(self._events))
            for death in deaths:
                if death.event == self._events:
                    self._kill(death)

    def _feed(self, entry: Entry, payload: Payload | None = None) -> None:
        settled = self._center.handle(entry, payload)
        self._decisions += settled.decisions
        for answer in settled.answers:
            worker = self._workers[answer.rank]
            if worker.incarnation == answer.incarnation and worker.port.deliver(answer):
                self._ready.append(answer.rank)
        self._keep_cut(settled)

    def _keep_cut(self, settled: Settled) -> None:
        if settled.cut:
            number, ranks, shards = settled.cut
            states = self._saved.pop(number, {})
            self._cuts[number] = Cut(number, ranks, shards, states, self._events, self._now, self._times.state())

"""The cluster: a greenlet per worker, an agenda of what happens next, and the shards.

    worker --send--> agenda, ordered by time --> log --> shards --> answers --> workers that wait --> run

A worker runs only until it sends or waits, and computing takes no real order: so nothing depends on who runs first. It may run
before its virtual time has come, since nothing that happens meanwhile can reach it: it sees answers only when it reads them.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import greenlet

from gradstream.center.entries import Answer, Entry, Leave, Payload, Push, Snapshot
from gradstream.center.ledger import Decision
from gradstream.sim.agenda import Agenda, Comes, Death, FromWorker, Lost
from gradstream.sim.center import Settled, ShardedCenter
from gradstream.sim.costs import CostedTimes, Costs, Traffic
from gradstream.sim.lives import Lives
from gradstream.sim.port import SimPort
from gradstream.sim.result import Cut, Result
from gradstream.sim.service import Schedule, ServiceTimes, Times
from gradstream.sim.view import Watch, Watching
from gradstream.spec import JobSpec
from gradstream.worker.link import Link
from gradstream.worker.loop import train
from gradstream.worker.problem import Problem
from gradstream.worker.replica import LossNotFinite, Replica

Problems = Callable[[JobSpec, int], Problem]


class Stuck(Exception):
    """Workers wait and nothing is on its way to the log."""


class Diverged(LossNotFinite):
    """The loss of a worker is not finite, which ends the simulation; `result` is what there was."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


@dataclass
class Worker:
    rank: int
    incarnation: int
    port: SimPort
    thread: greenlet.greenlet


def run(
    spec: JobSpec, problem: Problems, *, events: int | None = None, until: float = math.inf, cuts: Collection[int] = (),
    schedule: Schedule = "round-robin", seed: int | None = None, speeds: Sequence[float] = (), costs: Costs | None = None,
    watch: Watch | None = None, watch_every: int | None = None, stop: Callable[[], bool] = lambda: False,
    duplicates: float = 0.0, deaths: Collection[Death] = (), mtbf: float | None = None, down: float | None = 0.0,
    joins: Mapping[int, float] | None = None, align: int = 1, resume: Cut | None = None, results_at: Collection[int] = (),
) -> Result:  # fmt: skip
    """Train `problem(spec, rank)` on spec.roles.worker.count workers and spec.roles.server.count shards.

    Ends when all workers have left, after `events` pushes, before what is later than the virtual time `until`, when `watch`
    returns True, or when `stop()` does, which is asked before each step. With `costs`, virtual time is in their seconds;
    without, `schedule` and `speeds` say what a push takes. A cut is asked for after each of the pushes in `cuts`, and goes by
    that number. `seed` (default: the job's) is for times only. `duplicates` is the share of entries that reach the log twice.
    `mtbf`, `down`, `joins`: see `gradstream.sim.lives`; the others go on meanwhile, whatever `on_worker_loss` says.
    With `resume`, events and samples are counted on from the cut. `results_at`: pushes after which the result is kept, in
    `earlier` of the one that is returned.
    Raises: ValueError; Stuck; Diverged; ShardsDisagree; whatever a problem raises."""
    seed = spec.seed if seed is None else seed
    workers = spec.roles.worker.count
    if costs and speeds:
        raise ValueError("give speeds in the costs: Costs(speeds=Listed((1.0, 2.0)))")
    times = CostedTimes(costs, spec, seed) if costs else ServiceTimes(schedule, spec, seed, speeds)
    lives = Lives(workers, seed, mtbf, down, joins or {})
    if lives.change:
        spec = spec.model_copy(update={"on_worker_loss": "continue"})
    watching = Watching(watch or (lambda view: None), watch_every)
    simulation = Simulation(spec, problem, times, lives, watching, align, random.Random(f"{seed}/duplicates"), duplicates)
    try:
        simulation.start(resume)
        earlier = {}
        for count in sorted(results_at):
            simulation.go_on(count, until, stop, set(cuts), deaths)
            earlier[count] = simulation.result()
        simulation.go_on(events, until, stop, set(cuts), deaths)
        simulation.look_at_end()
        return replace(simulation.result(), earlier=earlier)
    except LossNotFinite as error:
        raise Diverged(str(error), simulation.result()) from error
    finally:
        simulation.end()


class Simulation:
    """One run; see `run`."""

    def __init__(
        self, spec: JobSpec, problem: Problems, times: Times, lives: Lives, watching: Watching, align: int,
        repeat: random.Random, duplicates: float,
    ) -> None:  # fmt: skip
        self._spec, self._problem, self._times, self._lives, self._watching = spec, problem, times, lives, watching
        self._align, self._repeat, self._duplicates = align, repeat, duplicates
        self._workers: dict[int, Worker] = {}
        self._agenda = Agenda()
        self._ready: deque[Worker] = deque()
        self._now = self._settled_at = 0.0
        """Of what reached the log last, and when the server had done with it."""
        self._events = self._deaths = 0
        self._saved: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._cuts: dict[int, Cut] = {}
        self._decisions: list[Decision] = []
        self._decided_at: list[float] = []
        self._losses: dict[int, list[float]] = defaultdict(list)
        self._enough = False

    def start(self, resume: Cut | None) -> None:
        ranks = range(self._spec.roles.worker.count)
        if resume:
            self._times.load(resume.service["times"], resume.service["links"], resume.time)
            self._lives.load(resume.service["lives"])
            self._now = self._settled_at = resume.time
            self._events = resume.events
        problems = {rank: self._problem(self._spec, rank) for rank in ranks if rank not in self._lives.absent}
        first = min(problems)
        self._center = ShardedCenter(self._spec, problems[first].theta.numel(), self._align)
        if resume:
            self._center.load(resume.shards)
            self._watching.begin(self._center.samples)
        for rank, at in sorted(self._lives.absent.items()):
            self._feed(Leave(rank, -1, "lost"))
            if at < math.inf:
                self._agenda.add(at, rank, Comes(0))
        for rank, problem in problems.items():
            if resume and rank not in resume.ranks and resume.shards[0]["members"]["positions"].get(rank, 0) >= problem.total:
                self._feed(Leave(rank, -1, "done"))
            else:
                state = resume.workers.get(rank) if resume else None
                self._spawn(rank, 0, problem, state, proposes=rank == first and not resume)

    def go_on(self, events: int | None, until: float, stop: Callable[[], bool], cuts: set[int], deaths: Collection[Death]) -> None:
        by_event: dict[int, list[Death]] = defaultdict(list)
        for death in deaths:
            by_event[death.event].append(death)
        while (events is None or self._events < events) and not self._enough and not stop():
            if self._ready:
                self._run(self._ready.popleft())
            elif self._agenda and self._agenda.next_at() <= until:
                self._next(cuts, by_event)
            elif self._agenda:
                break
            elif waiting := sorted(rank for rank, worker in self._workers.items() if not worker.thread.dead):
                raise Stuck(f"workers {waiting} wait for an answer at time {self._now:g}, and nothing is on its way to the log")
            else:
                break

    def look_at_end(self) -> None:
        self._watching.look(self._center, self._settled_at, self._events, end=True)

    def end(self) -> None:
        """Unwind what the workers were in the middle of."""
        for worker in self._workers.values():
            if not worker.thread.dead:
                worker.thread.throw(greenlet.GreenletExit)

    def result(self) -> Result:
        first = self._center.shards[0]
        assert first.center is not None, "the first worker has proposed theta_0 when the first push comes"
        meter, ranks = self._times.meter, range(self._spec.roles.worker.count)
        return Result(
            self._center.theta(), first.center.version, first.center.samples, self._events, self._settled_at, list(self._decisions),
            dict(first.ledger.accounts), {rank: list(losses) for rank, losses in self._losses.items()}, dict(self._cuts),
            self._center.state(), list(self._decided_at),
            {rank: meter.compute[rank] for rank in ranks}, {rank: meter.wait[rank] for rank in ranks},
            Traffic(meter.pushed, meter.pulled), self._deaths,
        )  # fmt: skip

    # ---- workers --------------------------------------------------------------------------------------------------------

    def _spawn(self, rank: int, incarnation: int, problem: Problem, resumed: dict[str, Any] | None, *, proposes: bool) -> None:
        """A new life of a rank, which runs up to its first entry."""
        port = SimPort(
            self._spec.codec, lambda entry, payload: self._post(rank, entry, payload),
            lambda arrived: self._times.took(rank, arrived),
        )  # fmt: skip

        def on_loss(_: int, loss: float) -> None:
            self._times.computed(rank)
            self._losses[rank].append(loss)
            self._watching.lost(loss)

        def save(cut: int, state: dict[str, Any]) -> None:
            self._saved[cut][rank] = state

        replica = Replica(self._spec, problem, on_loss)
        link = Link(self._spec, port, replica, rank, incarnation, save)
        theta = Payload(problem.theta, replica.buffers()) if proposes else None

        def live() -> None:
            link.join(theta, resumed)
            train(self._spec.strategy, replica, link)
            link.leave()

        worker = self._workers[rank] = Worker(rank, incarnation, port, greenlet.greenlet(live))
        self._times.born(rank, self._now)
        if rank not in self._lives.ends:
            self._lives.begins(rank, self._now)
        if rank in self._lives.ends:
            at = self._lives.ends[rank]
            self._agenda.add(max(at, self._now), rank, Lost(incarnation, at))
        self._run(worker)

    def _run(self, worker: Worker) -> None:
        if not worker.thread.dead:
            worker.thread.switch()

    def _kill(self, rank: int) -> bool:
        """What it was about to send never reaches the log; the agent sees it exit. False: it had left already."""
        worker = self._workers[rank]
        if worker.thread.dead:
            return False
        worker.thread.throw(greenlet.GreenletExit)
        self._deaths += 1
        self._feed(Leave(rank, worker.incarnation, "lost"))
        return True

    def _respawn(self, rank: int) -> None:
        """The control plane starts the next life of a rank."""
        before = self._workers.get(rank)
        self._spawn(rank, before.incarnation + 1 if before else 0, self._problem(self._spec, rank), None, proposes=False)

    # ---- the log --------------------------------------------------------------------------------------------------------

    def _post(self, rank: int, entry: Entry, payload: Payload | None) -> None:
        assert isinstance(entry, FromWorker)
        self._agenda.add(self._times.reaches_log(rank, entry, payload, self._now), rank, entry, payload)

    def _next(self, cuts: set[int], deaths: Mapping[int, list[Death]]) -> None:
        """The next thing happens. If an entry reaches the log, its sender goes on."""
        due = self._agenda.take()
        worker, rank = self._workers.get(due.rank), due.rank
        if isinstance(due.what, Comes):
            self._now = due.time
            self._respawn(rank)
            return
        if worker is None or worker.thread.dead or worker.incarnation != due.what.incarnation:
            return  # of a life that is over
        self._now = due.time
        if isinstance(due.what, Lost):
            self._lives.lost(rank, due.what.at)  # first: the others may have waited for it with a cut, which knows who is away
            self._kill(rank)
            if self._lives.absent[rank] < math.inf:
                self._agenda.add(self._lives.absent[rank], rank, Comes(worker.incarnation + 1))
            return
        self._feed(due.what, due.payload)
        if self._duplicates and self._repeat.random() < self._duplicates:
            self._feed(due.what, due.payload)
        self._ready.append(worker)
        if isinstance(due.what, Push):
            self._events += 1
            if self._events in cuts:
                self._feed(Snapshot(self._events))
            for death in deaths.get(self._events, ()):
                if self._kill(death.rank) and death.respawn:
                    self._respawn(death.rank)
        self._enough = self._watching.look(self._center, self._settled_at, self._events)

    def _feed(self, entry: Entry, payload: Payload | None = None) -> None:
        self._settled_at = self._times.handled(entry, self._now)
        settled = self._center.handle(entry, payload)
        self._decisions += settled.decisions
        self._decided_at += [self._settled_at] * len(settled.decisions)
        links = self._times.links() if settled.cut else []
        for answer in settled.answers:
            self._answer(answer)
        if settled.cut:
            self._keep_cut(settled, links)

    def _answer(self, answer: Answer) -> None:
        worker = self._workers[answer.rank]
        if worker.incarnation == answer.incarnation and not worker.thread.dead:
            arrives = self._times.arrives(answer.rank, answer, self._settled_at)
            if worker.port.deliver(answer, arrives):
                self._ready.append(worker)

    def _keep_cut(self, settled: Settled, links: list[float]) -> None:
        """`links`: as they were before the answers to the cut. Who resumes from it is sent its center again when it may begin."""
        assert settled.cut
        number, ranks, shards = settled.cut
        kept = self._times.links()
        for answer in settled.answers:
            if answer.go:
                kept[answer.rank] = links[answer.rank]
        service = {"times": self._times.state(), "links": kept, "lives": self._lives.state()}
        states = self._saved.pop(number, {})
        self._cuts[number] = Cut(number, ranks, shards, states, self._events, self._settled_at, service)

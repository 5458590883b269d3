"""The cluster: a greenlet per worker, an agenda of what happens next, and the shards.

    worker --send--> agenda, ordered by time --> log --> shards --> responses --> workers that wait --> run

A worker runs only until it sends or waits, and computing takes no real order: so nothing depends on who runs first. It may run
before its virtual time has come, since nothing that happens meanwhile can reach it: it sees responses only when it reads them.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import greenlet

from gradstream.center.entries import Checkpoint, Entry, Leave, Payload, Push, Response
from gradstream.center.ledger import Decision
from gradstream.center.positions import taken_at
from gradstream.hogwild.replica import make_replica
from gradstream.observations.passes import ClosedPass
from gradstream.sim.agenda import Agenda, Comes, FromWorker, Lost, WorkerFailure
from gradstream.sim.center import Settled, ShardedCenter
from gradstream.sim.incarnations import Incarnations
from gradstream.sim.port import SimPort
from gradstream.sim.result import Result, SimulatedCheckpoint
from gradstream.sim.times.costs import MovedBytes
from gradstream.sim.times.service import Times
from gradstream.sim.view import Watching
from gradstream.spec import JobSpec
from gradstream.training.link import Link
from gradstream.training.link_events import LinkEvents
from gradstream.training.loop import train
from gradstream.training.problem import Problem, parameters_of

Problems = Callable[[JobSpec, int], Problem]


class Stuck(Exception):
    """Workers wait and nothing is on its way to the log."""


@dataclass
class SimWorker:
    rank: int
    incarnation: int
    port: SimPort
    thread: greenlet.greenlet


class _KeptStates(LinkEvents):
    """Keeps the states of one worker for checkpoints."""

    def __init__(self, states: dict[int, dict[int, dict[str, Any]]], rank: int) -> None:
        self._states, self._rank = states, rank

    def save_state(self, checkpoint: int, state: Callable[[], dict[str, Any]]) -> None:
        self._states[checkpoint][self._rank] = state()


class Simulation:
    """One run; see `gradstream.sim.running`."""

    def __init__(
        self,
        spec: JobSpec,
        problem: Problems,
        times: Times,
        incarnations: Incarnations,
        watching: Watching,
        align: int,
        repeat: random.Random,
        duplicates: float,
    ) -> None:
        self._spec, self._problem, self._times, self._incarnations, self._watching = spec, problem, times, incarnations, watching
        self._align, self._repeat, self._duplicates = align, repeat, duplicates
        self._workers: dict[int, SimWorker] = {}
        self._agenda = Agenda()
        self._ready: deque[SimWorker] = deque()
        self._now = self._settled_at = 0.0
        """Time of the log's last entry, and the time at which the server had handled it."""
        self._events = self._failures = 0
        self._saved: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._checkpoints: dict[int, SimulatedCheckpoint] = {}
        self._decisions: list[Decision] = []
        self._passes: list[ClosedPass] = []
        self._decided_at: list[float] = []
        self._losses: dict[int, list[float]] = defaultdict(list)
        self._enough = False

    def start(self, resume: SimulatedCheckpoint | None) -> None:
        ranks = range(self._spec.roles.worker.count)
        if resume:
            self._times.load(resume.service["times"], resume.service["links"], resume.time)
            self._incarnations.load(resume.service["incarnations"])
            self._now = self._settled_at = resume.time
            self._events = resume.events
        problems = {rank: self._problem(self._spec, rank) for rank in ranks if rank not in self._incarnations.absent}
        first = min(problems)
        self._center = ShardedCenter(self._spec, problems[first].theta.numel(), self._align, parameters_of(problems[first]))
        if resume:
            self._center.load(resume.shards)
            self._watching.begin(self._center.samples)
        for rank, at in sorted(self._incarnations.absent.items()):
            self._feed(Leave(rank, -1, "lost"))
            if at < math.inf:
                self._agenda.add(at, rank, Comes(0))
        for rank, problem in problems.items():
            if (
                resume
                and rank not in resume.ranks
                and taken_at(resume.shards[0]["members"]["positions"].get(rank, 0)) >= problem.total
            ):
                self._feed(Leave(rank, -1, "done"))
            else:
                state = resume.workers.get(rank) if resume else None
                self._spawn(rank, 0, problem, state, proposes=rank == first and not resume)

    def go_on(
        self, events: int | None, until: float, stop: Callable[[], bool], checkpoints: set[int], failures: Collection[WorkerFailure]
    ) -> None:
        by_event: dict[int, list[WorkerFailure]] = defaultdict(list)
        for failure in failures:
            by_event[failure.event].append(failure)
        while (events is None or self._events < events) and not self._enough and not stop():
            if self._ready:
                self._run(self._ready.popleft())
            elif self._agenda and self._agenda.next_at() <= until:
                self._next(checkpoints, by_event)
            elif self._agenda:
                break
            elif waiting := sorted(rank for rank, worker in self._workers.items() if not worker.thread.dead):
                raise Stuck(f"workers {waiting} wait for a response at time {self._now:g}, and nothing is on its way to the log")
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
            self._center.theta(),
            first.center.version,
            first.center.samples,
            self._events,
            self._settled_at,
            list(self._decisions),
            dict(first.ledger.accounts),
            {rank: list(losses) for rank, losses in self._losses.items()},
            dict(self._checkpoints),
            self._center.state(),
            list(self._decided_at),
            {rank: meter.compute[rank] for rank in ranks},
            {rank: meter.wait[rank] for rank in ranks},
            MovedBytes(meter.pushed, meter.pulled),
            self._failures,
            list(self._passes),
        )

    # ---- workers --------------------------------------------------------------------------------------------------------

    def _spawn(self, rank: int, incarnation: int, problem: Problem, resumed: dict[str, Any] | None, *, proposes: bool) -> None:
        """A new incarnation of a rank, which runs up to its first entry."""
        port = SimPort(
            self._spec.codec,
            lambda entry, payload: self._post(rank, entry, payload),
            lambda arrived: self._times.took(rank, arrived),
        )

        def on_loss(_: int, loss: float) -> None:
            self._times.computed(rank)
            self._losses[rank].append(loss)
            self._watching.lost(loss)

        replica = make_replica(self._spec, problem, on_loss)
        link = Link(self._spec, port, replica, rank, incarnation, _KeptStates(self._saved, rank))
        theta = Payload(problem.theta, replica.model.buffers()) if proposes else None

        def live() -> None:
            link.join(theta, resumed)
            train(self._spec.strategy, replica, link)
            link.leave()

        worker = self._workers[rank] = SimWorker(rank, incarnation, port, greenlet.greenlet(live))
        self._times.born(rank, self._now)
        if rank not in self._incarnations.ends:
            self._incarnations.begins(rank, self._now)
        if rank in self._incarnations.ends:
            at = self._incarnations.ends[rank]
            self._agenda.add(max(at, self._now), rank, Lost(incarnation, at))
        self._run(worker)

    def _run(self, worker: SimWorker) -> None:
        if not worker.thread.dead:
            worker.thread.switch()

    def _kill(self, rank: int) -> bool:
        """End a worker: its unsent entries never reach the log, and the agent sees it exit. False: it had left already."""
        worker = self._workers[rank]
        if worker.thread.dead:
            return False
        worker.thread.throw(greenlet.GreenletExit)
        self._failures += 1
        self._feed(Leave(rank, worker.incarnation, "lost"))
        return True

    def _respawn(self, rank: int) -> None:
        """Start the next incarnation of a rank, as the control plane does."""
        before = self._workers.get(rank)
        self._spawn(rank, before.incarnation + 1 if before else 0, self._problem(self._spec, rank), None, proposes=False)

    # ---- the log --------------------------------------------------------------------------------------------------------

    def _post(self, rank: int, entry: Entry, payload: Payload | None) -> None:
        assert isinstance(entry, FromWorker)
        self._agenda.add(self._times.reaches_log(rank, entry, payload, self._now), rank, entry, payload)

    def _next(self, checkpoints: set[int], failures: Mapping[int, list[WorkerFailure]]) -> None:
        """Make the next event happen. If an entry reaches the log, its sender goes on."""
        due = self._agenda.take()
        worker, rank = self._workers.get(due.rank), due.rank
        if isinstance(due.what, Comes):
            self._now = due.time
            self._respawn(rank)
            return
        if worker is None or worker.thread.dead or worker.incarnation != due.what.incarnation:
            return  # of an incarnation that is over
        self._now = due.time
        if isinstance(due.what, Lost):
            self._incarnations.lost(
                rank, due.what.at
            )  # first: the others may have waited for it with a checkpoint, which knows who is away
            self._kill(rank)
            if self._incarnations.absent[rank] < math.inf:
                self._agenda.add(self._incarnations.absent[rank], rank, Comes(worker.incarnation + 1))
            return
        self._feed(due.what, due.payload)
        if self._duplicates and self._repeat.random() < self._duplicates:
            self._feed(due.what, due.payload)
        self._ready.append(worker)
        if isinstance(due.what, Push):
            self._events += 1
            if self._events in checkpoints:
                self._feed(Checkpoint(self._events))
            for failure in failures.get(self._events, ()):
                if self._kill(failure.rank) and failure.respawn:
                    self._respawn(failure.rank)
        self._enough = self._watching.look(self._center, self._settled_at, self._events)

    def _feed(self, entry: Entry, payload: Payload | None = None) -> None:
        self._settled_at = self._times.handled(entry, self._now)
        settled = self._center.handle(entry, payload)
        self._decisions += settled.decisions
        self._passes += settled.passes
        self._decided_at += [self._settled_at] * len(settled.decisions)
        links = self._times.links() if settled.checkpoint else []
        for response in settled.responses:
            self._deliver(response)
        if settled.checkpoint:
            self._keep_checkpoint(settled, links)

    def _deliver(self, response: Response) -> None:
        worker = self._workers[response.rank]
        if worker.incarnation == response.incarnation and not worker.thread.dead:
            arrives = self._times.arrives(response.rank, response, self._settled_at)
            if worker.port.deliver(response, arrives):
                self._ready.append(worker)

    def _keep_checkpoint(self, settled: Settled, links: list[float]) -> None:
        """`links`: before the responses to the checkpoint. A worker that resumes is sent its center again when it may begin."""
        assert settled.checkpoint
        number, ranks, shards = settled.checkpoint
        kept = self._times.links()
        for response in settled.responses:
            if response.go:
                kept[response.rank] = links[response.rank]
        service = {"times": self._times.state(), "links": kept, "incarnations": self._incarnations.state()}
        states = self._saved.pop(number, {})
        self._checkpoints[number] = SimulatedCheckpoint(number, ranks, shards, states, self._events, self._settled_at, service)

"""A run of the simulated cluster, from its start to its result."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from gradstream.sim.agenda import WorkerFailure
from gradstream.sim.cluster import Problems, Simulation
from gradstream.sim.incarnations import Incarnations
from gradstream.sim.result import Result, SimulatedCheckpoint
from gradstream.sim.times.costs import CostedTimes, Costs
from gradstream.sim.times.service import Schedule, ServiceTimes, Times
from gradstream.sim.view import Watch, Watching
from gradstream.spec import JobSpec
from gradstream.training.replica import LossNotFinite


class Diverged(LossNotFinite):
    """The loss of a worker is not finite, which ends the simulation; `result` is what there was."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


def run(
    spec: JobSpec,
    problem: Problems,
    *,
    events: int | None = None,
    until: float = math.inf,
    checkpoints: Collection[int] = (),
    schedule: Schedule = "round-robin",
    seed: int | None = None,
    speeds: Sequence[float] = (),
    costs: Costs | None = None,
    watch: Watch | None = None,
    watch_every: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    duplicates: float = 0.0,
    failures: Collection[WorkerFailure] = (),
    mtbf: float | None = None,
    down: float | None = 0.0,
    joins: Mapping[int, float] | None = None,
    align: int = 1,
    resume: SimulatedCheckpoint | None = None,
    results_at: Collection[int] = (),
) -> Result:
    """Train `problem(spec, rank)` on spec.roles.worker.count workers and spec.roles.server.count shards.

    Ends when all workers have left, after `events` pushes, before what is later than the virtual time `until`, when `watch`
    returns True, or when `stop()` does, which is asked before each step. With `costs`, virtual time is in their seconds;
    without, `schedule` and `speeds` say what a push takes. A checkpoint is requested after each of the pushes in
    `checkpoints`, and goes by that number. `seed` (default: the job's) is for times only. `duplicates` is the share of entries
    that reach the log twice. `mtbf`, `down`, `joins`: see `gradstream.sim.incarnations`; the others go on meanwhile, whatever
    `on_worker_loss` says.
    With `resume`, events and samples are counted on from the checkpoint. `results_at`: pushes after which the result is kept, in
    `earlier` of the one that is returned.
    Raises: ValueError; Stuck; Diverged; ShardsDisagree; whatever a problem raises."""
    seed = spec.seed if seed is None else seed
    times = _make_times(spec, schedule, seed, speeds, costs)
    incarnations = Incarnations(spec.roles.worker.count, seed, mtbf, down, joins or {})
    if incarnations.change:
        spec = spec.model_copy(update={"on_worker_loss": "continue"})
    watching = Watching(watch or (lambda view: None), watch_every)
    simulation = Simulation(spec, problem, times, incarnations, watching, align, random.Random(f"{seed}/duplicates"), duplicates)

    def go_on(count: int | None) -> Result:
        simulation.go_on(count, until, stop, set(checkpoints), failures)
        return simulation.result()

    return _run_to_end(simulation, go_on, events, resume, results_at)


def _make_times(spec: JobSpec, schedule: Schedule, seed: int, speeds: Sequence[float], costs: Costs | None) -> Times:
    if costs and speeds:
        raise ValueError("give speeds in the costs: Costs(speeds=Listed((1.0, 2.0)))")
    return CostedTimes(costs, spec, seed) if costs else ServiceTimes(schedule, spec, seed, speeds)


def _run_to_end(
    simulation: Simulation,
    go_on: Callable[[int | None], Result],
    events: int | None,
    resume: SimulatedCheckpoint | None,
    results_at: Collection[int],
) -> Result:
    try:
        simulation.start(resume)
        earlier = {count: go_on(count) for count in sorted(results_at)}
        go_on(events)
        simulation.look_at_end()
        return replace(simulation.result(), earlier=earlier)
    except LossNotFinite as error:
        raise Diverged(str(error), simulation.result()) from error
    finally:
        simulation.end()

"""`gradstream sim`: a job file, or a strategy on a toy problem, in virtual time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gradstream.cli.common import INTERRUPTED, OUTCOMES, Code
from gradstream.cli.simulator import options
from gradstream.cli.simulator.plan import SimulationPlan, blame, check_turns, costs_of, given, joins_of, of_job, of_toy, toy_spec

if TYPE_CHECKING:
    from gradstream.sim.figures import Curve, CurvePoint

_SMALL = 1000
"""Parameters of a center that is printed."""
_STOPPED = {None: "", "target": "target reached", "patience": "early stopping"}


def command(
    job_file: options.JobFile = None,
    problem: options.Problem = "toy",
    strategy: options.Strategy = None,
    settings: options.Settings = None,
    code: Code = None,
    gate: options.Gate = None,
    optimizer: options.Optimizer = None,
    workers: options.Workers = None,
    shards: options.Shards = None,
    events: options.Events = None,
    until: options.Until = None,
    steps: options.Steps = None,
    seed: options.Seed = None,
    speeds: options.Speeds = None,
    step: options.Step = None,
    latency: options.Latency = None,
    bandwidth: options.Bandwidth = None,
    apply: options.Apply = None,
    schedule: options.Schedule = None,
    speed: options.Speed = None,
    mtbf: options.Mtbf = None,
    down: options.Down = 0.0,
    joins: options.Joins = None,
    watch: options.Watch = None,
    plot: options.Plot = None,
    as_json: options.AsJson = False,
) -> None:
    """Run a job file, or a strategy on a toy problem, in virtual time in this process: the same numbers every time.

    Example: gradstream sim job.yaml --workers 256 --speeds lognormal:0.3

    Example: gradstream sim --problem toy --strategy adag --set window=5 --set lr=0.01 --workers 4 --events 40
    """
    _check_plot(plot)
    costs = costs_of(speeds, step, latency, bandwidth, apply)
    check_turns(schedule, speed, None if costs or job_file else workers or 4)
    roles = {"roles.worker.count": workers, "roles.server.count": shards}
    parts = {"gate": gate, "optimizer": optimizer, "stop.steps": steps, "seed": seed, **roles}
    chosen = {"mtbf": mtbf, "down": down, "joins": joins_of(joins or []), "until": until or math.inf, "events": events}
    if job_file:
        plan = of_job(job_file, code, strategy, [*(settings or []), *given(parts)], costs, chosen, watch)
    else:
        turns = {} if costs else {"schedule": schedule or "round-robin", "speeds": speed or ()}
        plan = of_toy(toy_spec(strategy, settings or [], parts), problem, costs, chosen | turns, watch)
    _simulate(plan, plot, as_json)


def _check_plot(path: Path | None) -> None:
    if path:
        from gradstream.sim.plot import ready

        ready(path)


def _simulate(plan: SimulationPlan, plot: Path | None, as_json: bool) -> None:
    from gradstream import sim
    from gradstream.cli.simulator.text import summary, title
    from gradstream.cli.terminal.output import print_json, talk
    from gradstream.input.data import DatasetTooSmall
    from gradstream.process.exits import UserError
    from gradstream.sim import figures
    from gradstream.sim.times.speeds import ConstantSpeeds

    curve = figures.Curve(plan.spec, plan.workloads.evaluate if plan.workloads else lambda view: {})
    speeds = plan.costs.distribution if plan.costs else ConstantSpeeds()
    if plan.options["mtbf"] and plan.spec.effective_on_worker_loss == "restart":
        talk("the platform would restart this job from its last checkpoint at each loss; the simulator continues it")
    diverged = ""
    with _interruptible() as interrupted, _progress(curve, plan):
        try:
            watching: dict[str, Any] = {"watch": curve, "watch_every": plan.watch_every, "stop": interrupted}
            result = sim.run(plan.spec, plan.problem, costs=plan.costs, **watching, **plan.options)
        except sim.Diverged as error:
            result, diverged = error.result, str(error)
        except (ValueError, DatasetTooSmall) as error:
            raise typer.BadParameter(str(error)) from error
        except UserError as error:
            blame(error)
    if plot:
        from gradstream.sim.plot import draw

        draw(plot, title(plan.spec), result, curve, speeds)
        talk(f"Drawn into {plot}")
    if diverged:
        typer.echo(f"diverged: {diverged}; {result.events} pushes by time {result.time:g}. A smaller lr may help", err=True)
        raise typer.Exit(OUTCOMES["failed"])
    how = "interrupted" if interrupted() else _STOPPED[curve.stopped_by]
    if as_json:
        small = plan.workloads is None or result.center.numel() <= _SMALL
        print_json(figures.facts(plan.spec, result, curve, speeds, small=small))
    else:
        print(summary(plan.spec, result, curve, speeds, how=how))
    if interrupted():
        raise typer.Exit(INTERRUPTED)


# ---- while it runs ------------------------------------------------------------------------------------------------------------


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C asks for an end after the current step, so that what there is can be shown; the second one is the usual."""
    import signal
    import threading

    asked = False

    def handler(*_: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: asked
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _progress(curve: Curve, plan: SimulationPlan) -> Iterator[None]:
    """One line on a terminal's stderr that says how far it is; for a job file also, line by line, elsewhere."""
    import sys

    from gradstream.cli.simulator.text import progress
    from gradstream.cli.terminal.output import talk

    live = sys.stderr.isatty()

    def said(point: CurvePoint) -> None:
        words = progress(point, plan.total)
        if live:
            print(f"\r\x1b[K{words}", end="", file=sys.stderr, flush=True)
        elif plan.workloads:
            talk(words)

    curve.said = said
    try:
        yield
    finally:
        if live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

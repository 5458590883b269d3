"""`gradstream sim`: a job file, or a strategy on a toy problem, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gradstream.cli.common import INTERRUPTED, OUTCOMES, Code
from gradstream.cli.sim_plan import Plan, Toy, blame, costs_of, given, joins_of, of_job, of_toy, toy_spec

if TYPE_CHECKING:
    from gradstream.sim.figures import Curve, Point

Schedule = Literal["round-robin", "random"]

_COSTS = "Costs, in virtual seconds or any other unit, but the same everywhere"
_FAILURES = "Failures, in the same unit"
_SMALL = 1000
"""Parameters of a center that is printed."""
_STOPPED = {None: "", "target": "target reached", "patience": "patience ran out"}


def command(
    job_file: Annotated[Path | None, typer.Argument(metavar="[JOB.YAML]", help="A job file; without one, a toy problem")] = None,
    problem: Annotated[Toy, typer.Option(help="toy: two parameters; noisy: that with noise; bowl: a thousand, float32")] = "toy",
    strategy: Annotated[str | None, typer.Option(help="Of a toy: one of `gradstream strategies`; default: async")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A value of the job file, e.g. strategy.lr=0.1; of a toy: of the strategy"),
    ] = None,
    code: Code = None,
    gate: Annotated[str | None, typer.Option(help="As in a job file: bsp, asp, '{ssp: 3}', '{max_staleness: 8}'")] = None,
    optimizer: Annotated[str | None, typer.Option(help="As in a job file: '{name: adagrad, lr: 0.1}'")] = None,
    workers: Annotated[int | None, typer.Option(help="From 1 to 1,000; default: the job's, or 4")] = None,
    shards: Annotated[int | None, typer.Option(help="Parameter servers; default: the job's, or 1")] = None,
    events: Annotated[
        int | None, typer.Option(help="End after this many pushes, all workers together; default: no end, or 100 of a toy", min=1)
    ] = None,
    until: Annotated[float | None, typer.Option(help="End at this virtual time")] = None,
    steps: Annotated[int | None, typer.Option(help="Mini-batches per worker; default: the job's, or no end", min=1)] = None,
    seed: Annotated[int | None, typer.Option(help="Of times, noise and data; default: the job's, or 1")] = None,
    speeds: Annotated[
        str | None,
        typer.Option(help="constant, lognormal:0.3, memoryless, straggler:5, 1,1,2.5 or recorded:FILE", rich_help_panel=_COSTS),
    ] = None,
    step: Annotated[float | None, typer.Option(help="Of one mini-batch; default: 1", min=0, rich_help_panel=_COSTS)] = None,
    latency: Annotated[float | None, typer.Option(help="Of a message, one way; default: 0", min=0, rich_help_panel=_COSTS)] = None,
    bandwidth: Annotated[
        str | None, typer.Option(help="Of each link, each way: e.g. 100MB/s, 10Gbit/s; default: endless", rich_help_panel=_COSTS)
    ] = None,
    apply: Annotated[
        float | None, typer.Option(help="Of the server for a push, one after another; default: 0", min=0, rich_help_panel=_COSTS)
    ] = None,
    schedule: Annotated[
        Schedule | None, typer.Option(help="Instead of costs: a push takes a unit, equal or exponential", rich_help_panel=_COSTS)
    ] = None,
    speed: Annotated[
        list[float] | None, typer.Option("--speed", help="With a schedule, of a worker, from rank 0 on", rich_help_panel=_COSTS)
    ] = None,
    mtbf: Annotated[float | None, typer.Option(help="Mean time until a worker is lost", rich_help_panel=_FAILURES)] = None,
    down: Annotated[float, typer.Option(help="Until a lost worker is back", min=0, rich_help_panel=_FAILURES)] = 0.0,
    joins: Annotated[
        list[str] | None,
        typer.Option("--join", metavar="RANK=TIME", help="A worker that comes late; may be repeated", rich_help_panel=_FAILURES),
    ] = None,
    watch: Annotated[int | None, typer.Option(help="Samples between two points of the curves", min=1)] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves into this .svg, .png or .pdf file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with the curves")] = False,
) -> None:
    """Run a job file, or a strategy on a toy problem, in virtual time in this process: the same numbers every time.

    Example: gradstream sim job.yaml --workers 256 --speeds lognormal:0.3

    Example: gradstream sim --problem toy --strategy adag --set window=5 --set lr=0.01 --workers 4 --events 40
    """
    if plot:
        from gradstream.sim.plot import ready

        ready(plot)
    costed = costs_of(speeds, step, latency, bandwidth, apply)
    if (schedule or speed) and (costed or job_file):
        raise typer.BadParameter("it means nothing beside costs, as a job file has; use --speeds", param_hint="--schedule, --speed")
    parts = {
        "gate": gate, "optimizer": optimizer, "roles.worker.count": workers, "roles.server.count": shards, "stop.steps": steps,
        "seed": seed,
    }  # fmt: skip
    options: dict[str, Any] = {"mtbf": mtbf, "down": down, "joins": joins_of(joins or []), **({"until": until} if until else {})}
    if job_file:
        if strategy:
            raise typer.BadParameter("a job file has one; write --set 'strategy={name: sync, lr: 0.3}'", param_hint="--strategy")
        plan = of_job(job_file, code, [*(settings or []), *given(parts)], costed, options | {"events": events}, watch)
    else:
        count = 4 if workers is None else workers
        if speed and (len(speed) != count or min(speed) <= 0):
            raise typer.BadParameter(f"give it {count} times, once for each worker, above 0", param_hint="--speed")
        options |= {"events": None if until and not events else events or 100}
        options |= {} if costed else {"schedule": schedule or "round-robin", "speeds": speed or ()}
        spec = toy_spec(strategy or "async", settings or [], {"stop.steps": steps} | parts)
        plan = of_toy(spec, problem, costed, options, watch)
    _simulate(plan, plot, as_json)


def _simulate(plan: Plan, plot: Path | None, as_json: bool) -> None:
    from gradstream import sim
    from gradstream.cli.output import print_json, talk
    from gradstream.cli.sim_text import summary, title
    from gradstream.process.exits import UserError
    from gradstream.sim import figures
    from gradstream.sim.speeds import Constant
    from gradstream.worker.data import DatasetTooSmall

    curve = figures.Curve(plan.spec, plan.workloads.evaluate if plan.workloads else lambda view: {})
    speeds = plan.costs.distribution if plan.costs else Constant()
    if plan.options["mtbf"] and plan.spec.effective_on_worker_loss == "restart":
        talk("the platform would restart this job from its last cut at each loss; here it goes on (on_worker_loss: continue)")
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
def _progress(curve: Curve, plan: Plan) -> Iterator[None]:
    """One line on a terminal's stderr that says how far it is; for a job file also, line by line, elsewhere."""
    import sys

    from gradstream.cli.output import talk
    from gradstream.cli.sim_text import progress

    live = sys.stderr.isatty()

    def said(point: Point) -> None:
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

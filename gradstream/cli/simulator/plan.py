"""The plan of a simulation, read from the options of `gradstream sim`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import typer

from gradstream.cli.common import OUTCOMES, bytes_per_second, note_no_exports, note_no_threads

if TYPE_CHECKING:
    from gradstream.sim import Costs
    from gradstream.sim.workload import Workloads
    from gradstream.spec import JobSpec

Toy = Literal["toy", "noisy", "bowl"]

_POINTS = 20
"""Points of a curve, unless --watch says otherwise."""
_EVENTS = 100
"""Pushes of a toy that has no other end."""


@dataclass(frozen=True)
class SimulationPlan:
    """A simulation to run."""

    spec: JobSpec
    problem: Callable[[JobSpec, int], Any]
    workloads: Workloads | None
    """None: a toy."""
    costs: Costs | None
    options: dict[str, Any]
    """Options of `sim.run`."""
    watch_every: int
    total: int | None


def of_job(
    path: Path,
    code: Path | None,
    strategy: str | None,
    overrides: list[str],
    costs: Costs | None,
    options: dict[str, Any],
    watch: int | None,
) -> SimulationPlan:
    """Raises: InvalidJob, NotFound."""
    if strategy:
        raise typer.BadParameter("a job file has one; write --set 'strategy={name: sync, lr: 0.3}'", param_hint="--strategy")
    from gradstream import jobfile

    spec = jobfile.load(path, overrides)
    _check_link(spec, costs)
    note_no_exports(spec, "the simulator")
    note_no_threads(
        spec,
        threads="the simulator makes the steps of a worker's threads one after another, each in its share of the time",
        peers="the simulator computes each mini-batch in one process, in its share of the time",
    )
    if spec.stop.never:
        raise typer.BadParameter("the job never ends by itself, and a simulation does; write --set 'stop={steps: 1000}'")
    import torch

    from gradstream.input.data import DatasetTooSmall
    from gradstream.process.exits import UserError
    from gradstream.sim import Costs
    from gradstream.sim.workload import Workloads

    torch.set_num_threads(spec.roles.worker.threads)
    where = (code or path.parent).resolve()
    try:
        workloads = Workloads(spec, where if where.is_dir() else where.parent)
        total = workloads.total_samples()
    except UserError as error:
        blame(error)
    except DatasetTooSmall as error:
        raise typer.BadParameter(str(error), param_hint="--workers") from error
    every = watch or spec.evaluate.cadence.in_samples(workloads.epoch_samples()) or max(spec.batch_size, total // _POINTS)
    return SimulationPlan(spec, workloads, workloads, costs or Costs(), options, every, total)


def of_toy(spec: JobSpec, problem: Toy, costs: Costs | None, options: dict[str, Any], watch: int | None) -> SimulationPlan:
    from gradstream.sim.toys import TOYS

    _check_link(spec, costs)
    if math.isinf(options["until"]):
        options = options | {"events": options["events"] or _EVENTS}
    every = watch or max(1, (options["events"] or _EVENTS) // _POINTS) * spec.batch_size
    return SimulationPlan(spec, TOYS[problem], None, costs, options, every, None)


def _check_link(spec: JobSpec, costs: Costs | None) -> None:
    """Raises: BadParameter: there is no link."""
    if spec.shares_memory and costs and (costs.latency or costs.bandwidth):
        raise typer.BadParameter(
            "this job has no servers, and its vectors stay in shared memory; leave them out", param_hint="--latency, --bandwidth"
        )


def toy_spec(strategy: str | None, settings: list[str], parts: dict[str, Any]) -> JobSpec:
    """Raises: InvalidJob."""
    from gradstream import jobfile
    from gradstream.sim.toys import ENDLESS

    document = {
        "name": "simulation",
        "workload": {"entrypoint": "toys:Toy"},
        "strategy": {"name": strategy or "async"},
        "roles": {"worker": {"count": 4}, "server": {"count": 1}},
        "stop": {"steps": ENDLESS},
        "seed": 1,
    }
    return jobfile.load(json.dumps(document), [*(f"strategy.{setting}" for setting in settings), *given(parts)])


def given(parts: dict[str, Any]) -> list[str]:
    return [f"{key}={value}" for key, value in parts.items() if value is not None]


def costs_of(
    speeds: str | None, step: float | None, latency: float | None, bandwidth: str | None, apply: float | None
) -> Costs | None:
    """None: no option of theirs is given."""
    width = bytes_per_second(bandwidth) if bandwidth else None
    options: dict[str, Any] = {"speeds": speeds, "step": step, "latency": latency, "bandwidth": width, "apply": apply}
    options = {key: value for key, value in options.items() if value is not None}
    if not options:
        return None
    from gradstream.sim.times.costs import Costs

    try:
        return Costs(**options)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def check_turns(schedule: str | None, speed: list[float] | None, workers: int | None) -> None:
    """`workers`: how many take turns; None: their costs decide who is next. Raises: BadParameter."""
    if (schedule or speed) and workers is None:
        raise typer.BadParameter(
            "it has no effect with costs, which a job file has; use --speeds", param_hint="--schedule, --speed"
        )
    if speed and (len(speed) != workers or min(speed) <= 0):
        raise typer.BadParameter(f"give it {workers} times, once for each worker, above 0", param_hint="--speed")


def joins_of(texts: list[str]) -> dict[int, float]:
    joins = {}
    for one in texts:
        found = re.fullmatch(r"(\d+)(?:-(\d+))?=(\d+(?:\.\d+)?)", one)
        if not found:
            raise typer.BadParameter(f"'{one}': write RANK=TIME, or FIRST-LAST=TIME", param_hint="--join")
        for rank in range(int(found[1]), int(found[2] or found[1]) + 1):
            joins[rank] = float(found[3])
    return joins


def blame(error: Exception) -> NoReturn:
    """The workload raised: say what, and where in the user's code."""
    import traceback

    from gradstream.cli.terminal.output import talk
    from gradstream.process.exits import UserError, explain_user_error

    cause = error.__cause__
    talk(f"error: {explain_user_error(error) if isinstance(error, UserError) else error}", "red")
    if cause and (frames := traceback.extract_tb(cause.__traceback__)):
        talk(f"  in {frames[-1].filename}, line {frames[-1].lineno}: {frames[-1].line}")
    raise typer.Exit(OUTCOMES["failed"]) from error

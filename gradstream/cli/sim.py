"""`gradstream sim`: a strategy on a toy problem, in virtual time."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from gradstream.sim import Result
    from gradstream.spec import JobSpec

Toy = Literal["toy", "noisy", "bowl"]
Schedule = Literal["round-robin", "random"]

_DIVERGED = 10


def command(
    problem: Annotated[Toy, typer.Option(help="toy: two parameters; noisy: that with noise; bowl: a thousand, float32")] = "toy",
    strategy: Annotated[str, typer.Option(help="One of `gradstream strategies`")] = "async",
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the strategy")] = None,
    gate: Annotated[str | None, typer.Option(help="As in a job file: bsp, asp, '{ssp: 3}', '{max_staleness: 8}'")] = None,
    optimizer: Annotated[str | None, typer.Option(help="As in a job file: '{name: adagrad, lr: 0.1}'")] = None,
    workers: Annotated[int, typer.Option(help="From 1 to 1,000")] = 4,
    shards: Annotated[int, typer.Option(help="Parameter servers")] = 1,
    events: Annotated[int, typer.Option(help="End after this many pushes, all workers together", min=1)] = 100,
    steps: Annotated[int | None, typer.Option(help="Mini-batches per worker; default: no end", min=1)] = None,
    schedule: Annotated[Schedule, typer.Option(help="Times between pushes: all equal, or exponential")] = "round-robin",
    speeds: Annotated[list[float] | None, typer.Option("--speed", help="Of a worker, from rank 0 on; once for each")] = None,
    seed: Annotated[int, typer.Option(help="Of the random schedule and of the noise")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Run a strategy in virtual time on a toy problem, without processes: the same numbers every time."""
    from gradstream import sim
    from gradstream.sim.toys import TOYS
    from gradstream.worker.replica import LossNotFinite

    if speeds and (len(speeds) != workers or min(speeds) <= 0):
        raise typer.BadParameter(f"give it {workers} times, once for each worker, above 0", param_hint="--speed")
    spec = _job(strategy, settings or [], {"gate": gate, "optimizer": optimizer}, workers, shards, steps, seed)
    try:
        result = sim.run(spec, TOYS[problem], events=events, schedule=schedule, speeds=speeds or ())
    except LossNotFinite as error:
        typer.echo(f"diverged: {error}", err=True)
        raise typer.Exit(_DIVERGED) from error
    print(json.dumps(_facts(result)) if as_json else _summary(spec, result))


def _job(
    strategy: str, settings: list[str], parts: dict[str, str | None], workers: int, shards: int, steps: int | None, seed: int
) -> JobSpec:
    """Raises: InvalidJob."""
    from gradstream import jobfile
    from gradstream.sim.toys import ENDLESS

    document = {
        "name": "simulation",
        "workload": {"entrypoint": "toys:Toy"},
        "strategy": {"name": strategy},
        "roles": {"worker": {"count": workers}, "server": {"count": shards}},
        "stop": {"steps": steps or ENDLESS},
        "seed": seed,
    }
    overrides = [f"strategy.{setting}" for setting in settings]
    overrides += [f"{key}={value}" for key, value in parts.items() if value is not None]
    return jobfile.load(json.dumps(document), overrides)


def _facts(result: Result) -> dict[str, Any]:
    return {
        "center": result.center.tolist(),
        "version": result.version,
        "staleness": result.staleness,
        "ledger": {str(rank): asdict(account) | {"pending": account.pending} for rank, account in sorted(result.ledger.items())},
        "events": result.events,
        "time": result.time,
    }


def _summary(spec: JobSpec, result: Result) -> str:
    shown = ", ".join(f"{value:.6g}" for value in result.center[:8].tolist())
    stale = result.staleness
    lines = [
        f"{spec.strategy.name} under {spec.effective_gate}, {spec.roles.worker.count} workers, {spec.roles.server.count} shards",
        f"center     ({shown}{', ...' if result.center.numel() > 8 else ''})",
        f"version    {result.version} after {result.events} pushes, at time {result.time:g}",
        f"staleness  mean {sum(stale) / max(1, len(stale)):.3f}, highest {max(stale, default=0)}",
        "rank  pushed  applied  buffered  dropped  pending  last loss",
    ]
    for rank, account in sorted(result.ledger.items()):
        counts = (account.pushed, account.applied, account.buffered, account.dropped, account.pending)
        lines.append("{:4}  {:6}  {:7}  {:8}  {:7}  {:7}  {:9.4g}".format(rank, *counts, result.losses[rank][-1]))
    return "\n".join(lines)

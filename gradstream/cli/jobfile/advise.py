"""`gradstream advise`: what to expect of a job before it runs, and what to choose."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradstream.cli.common import AsJson, Code, JobFile, Overrides, bytes_per_second, seconds, warn
from gradstream.cli.jobfile.group_lines import group_advice, obstacle_to_shapes, print_groups
from gradstream.cli.jobfile.table_lines import table_lines

if TYPE_CHECKING:
    from gradstream.advise.advice import Advice
    from gradstream.advise.measure import Measurement
    from gradstream.advise.outlook import Machines, Outlook
    from gradstream.advise.warnings import Warning
    from gradstream.api.plan import PlannedTable
    from gradstream.sim.times.speeds import Speeds
    from gradstream.spec import JobSpec
    from gradstream.spec.shard_count import ShardCount

_SHORT = 1e-3
"""Seconds of a mini-batch below which threads of one process wait noticeably for Python's lock."""


def command(
    job_file: JobFile,
    overrides: Overrides = None,
    code: Code = None,
    step: Annotated[str | None, typer.Option(help="Time of a mini-batch, e.g. 20ms; default: measured here, on the CPU")] = None,
    bandwidth: Annotated[str, typer.Option(help="Bandwidth of each worker's link, each way: e.g. 100MB/s, 10Gbit/s")] = "1Gbit/s",
    latency: Annotated[str, typer.Option(help="Latency of a message, one way")] = "0.2ms",
    speeds: Annotated[str, typer.Option(help="As in `gradstream sim`: constant, lognormal:0.3, straggler:5 ...")] = "lognormal:0.1",
    cores: Annotated[int | None, typer.Option(min=1, help="Cores for each worker, as a group; default: those here")] = None,
    memory: Annotated[float | None, typer.Option(min=0.001, help="GB of memory for each worker; default: as here")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what to expect of a job before it runs: traffic, staleness, effective rate, distance to the limit of stability, for
    the job's strategy and all others; which strategy and window to choose, and why; and whether workers should be groups.

    Trains some mini-batches here to see how long one takes and how much the loss curves, and simulates the rest: no platform
    is needed.

    Example: gradstream advise job.yaml --set roles.worker.count=8 --bandwidth 100MB/s --speeds straggler:5
    """
    from gradstream.advise.warnings import warnings
    from gradstream.cli.jobfile.jobsource import find_job
    from gradstream.cli.terminal.output import print_json, talk
    from gradstream.sim.times.speeds import parse

    source = find_job(job_file, code)
    spec, folder = source.spec(overrides), source.folder
    given = (seconds(step), bytes_per_second(bandwidth), seconds(latency) or 0.0)
    try:
        chosen = parse(speeds)
        chosen.check(spec.roles.worker.count)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--speeds") from error
    talk("importing torch, training some mini-batches, simulating every strategy")
    with redirect_stdout(sys.stderr):  # what the workload prints is talk
        measured, machines, advice = _advice(spec, folder, *given, chosen)
    groups = group_advice(spec, measured, machines.step, cores, memory)
    if as_json:
        print_json({**_facts(advice, measured, machines, warnings(spec)), "groups": groups and groups.as_dict()})
    else:
        _print(advice, measured, machines)
        if groups:
            print_groups(groups)
        elif obstacle := obstacle_to_shapes(spec, measured):
            print(f"\n{obstacle}")
        warn(spec)


def _advice(
    spec: JobSpec, folder: Path, step: float | None, bandwidth: float, latency: float, speeds: Speeds
) -> tuple[Measurement, Machines, Advice]:
    """Raises: InvalidWorkload."""
    from gradstream.advise.advice import advise
    from gradstream.advise.outlook import Machines

    measured = measured_here(spec, folder)
    machines = Machines(step or measured.step, bandwidth, latency, speeds)
    return measured, machines, advise(spec, measured, machines)


def measured_here(spec: JobSpec, folder: Path) -> Measurement:
    """Raises: InvalidWorkload, in place of what the user's code raises."""
    from gradstream.advise.measure import measure
    from gradstream.errors import InvalidWorkload
    from gradstream.input.data import DatasetTooSmall
    from gradstream.process.exits import UserError

    try:
        return measure(spec, folder)
    except UserError as error:
        if isinstance(error.__cause__, InvalidWorkload):
            raise error.__cause__ from error
        raise InvalidWorkload(f"{error}: {error.__cause__!r}; `gradstream run --local` shows where") from error
    except DatasetTooSmall as error:
        raise InvalidWorkload(str(error)) from error


def _facts(advice: Advice, measured: Measurement, machines: Machines, found: list[Warning]) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "job": _row(advice.job, measured, machines),
        "strategies": [_row(each, measured, machines) for each in advice.strategies],
        "choice": {**_row(advice.choice, measured, machines), "lr": advice.rate, "reasons": advice.reasons},
        "measured": {**asdict(measured), "step": machines.step, "saved": measured.saved},
        "tables": [table.as_dict() for table in _forecasts(advice.job.spec, measured)],
        "shards": asdict(_shards(advice.job.spec, measured)),
        "warnings": [{"pointer": each.pointer, "message": each.text} for each in found],
    }


def _row(each: Outlook, measured: Measurement, machines: Machines) -> dict[str, Any]:
    return {
        "strategy": each.name,
        "window": each.window,
        "gate": str(each.spec.effective_gate),
        "bytes_per_second": _demands(each, measured, machines),
        "staleness": each.staleness,
        "busy": each.busy,
        "samples_per_second": each.samples_per_second,
        "effective_rate": each.effective_rate,
        "rate_times_curvature": each.load,
        "limit": each.limit,
        "distance": each.distance,
        "settles": each.settles,
        "momentum": _momentum(each.spec),
    }


def _demands(each: Outlook, measured: Measurement, machines: Machines) -> dict[str, float | None]:
    """Return the bytes per second to and from one worker that never waits, by codec; None: the strategy does not take it. Without
    servers all bytes stay in shared memory."""
    from gradstream.advise.advice import for_group, takes

    step = for_group(each.spec, measured, machines).step
    per_second = 0.0 if each.spec.roles.serverless else each.spec.parallelism / step
    return {
        codec: (each.pushed * size + each.pulled * measured.pulled + measured.of_rows) * per_second
        if takes(each.spec, codec)
        else None
        for codec, size in measured.pushed.items()
    }


def _shards(spec: JobSpec, measured: Measurement) -> ShardCount:
    """Return the choice of `roles.server.count: auto` on this machine."""
    from gradstream.spec import shard_count

    host = shard_count.Host(os.cpu_count() or 1, spec.roles.worker.count)
    return shard_count.choose(spec, measured.center, [host], measured.largest / max(1, measured.parameters))


def _momentum(spec: JobSpec) -> float | None:
    """Return the momentum that the server uses; with `momentum_correction`, less the share that asynchronous workers add."""
    from gradstream.optim.spec import Sgd

    optimizer = spec.optimizer if spec.strategy.descends == "server" else spec.server_optimizer
    return optimizer.effective_momentum(spec.roles.worker.count) if isinstance(optimizer, Sgd) else None


def _print(advice: Advice, measured: Measurement, machines: Machines) -> None:
    from gradstream.cli.terminal.output import size

    spec, n = advice.job.spec, advice.job.spec.roles.worker.count
    curves = f"no curvature: {measured.unknown}" if measured.curvature is None else f"largest curvature {measured.curvature:.3g}"
    print(f"{measured.parameters:,} parameters, {machines.step * 1000:.3g} ms a mini-batch, {curves}, {n} workers")
    print(f"a push is {size(measured.pushed[spec.codec.name])} as {spec.codec.name}, a pull {size(measured.pulled)}")
    for name, table in measured.tables.items():
        rows, gradients = size(round(table.looked_up)), size(round(table.pushed))
        print(f"table {name}: {table.keys:,.0f} distinct keys a mini-batch, {rows} of rows and {gradients} of gradients")
        print(f"  a row takes {table.row} B of its server, so 1 GiB holds {2**30 // table.row:,}")
        if table.cold:
            print(f"  a cold row, beyond memory.rows, takes {table.cold} B, so 1 GiB holds {2**30 // table.cold:,}")
    _print_forecasts(spec, measured)
    if spec.roles.server.count == "auto":
        print(f"roles.server.count: auto. {_shards(spec, measured).reason}")
    print()
    _print_outlooks(advice.strategies)
    if spec.roles.serverless:
        print("Strategies under asp or ssp need servers: one is counted for them.")
    print(_upper_limit(spec, machines.step))
    print("\nBytes per second to and from each worker that does not wait, by codec")
    _print_traffic(advice.strategies, measured, machines)
    choice = advice.choice
    print(f"\nChoose {choice.described}, gate {choice.spec.effective_gate}, lr {advice.rate:.3g}")
    for reason in advice.reasons:
        print(f"  {reason}")


def _forecasts(spec: JobSpec, measured: Measurement) -> list[PlannedTable]:
    """Forecast the rows of each table, with servers that have the memory of this machine."""
    import psutil

    from gradstream.advise.table_plan import planned_tables

    return planned_tables(spec, measured.table_sizes, measured.epoch_samples(spec), psutil.virtual_memory().total)


def _print_forecasts(spec: JobSpec, measured: Measurement) -> None:
    for table in _forecasts(spec, measured):
        print(f"forecast of table {table.name}, with servers of the memory of this machine:")
        for line in table_lines(table):
            print(f"  {line}")


def _print_outlooks(strategies: list[Outlook]) -> None:
    from gradstream.cli.terminal.output import number, print_table

    print_table(
        ("strategy", "gate", ">window", ">staleness", ">effective lr", ">of the limit", ">busy", ">samples/s at most"),
        [
            (
                each.name,
                str(each.spec.effective_gate),
                str(each.window or ""),
                f"{each.staleness:.1f}",
                f"{each.effective_rate:.3g}",
                _of_limit(each),
                f"{each.busy:.0%}",
                number(round(each.samples_per_second)),
            )
            for each in strategies
        ],
    )


def _upper_limit(spec: JobSpec, step: float) -> str:
    """Which hardware the throughput in the table holds for, and what this machine can give."""
    from gradstream.model.core_share import physical_cores

    threads = spec.roles.worker.hogwild
    cores, processes = (
        physical_cores(),
        spec.roles.worker.count * threads * spec.roles.worker.group.peers + spec.roles.server.shards + 1,
    )
    what = "processes" if threads == 1 else "threads and processes"
    told = f"samples/s is an upper limit: each of the {processes} {what} has its own core, and messages cost no computing."
    if threads > 1 and step < _SHORT:
        told += f" But mini-batches of {step * 1000:.2g} ms make threads wait for Python's lock: raise roles.worker.count instead."
    if processes <= cores:
        return told
    here = cores * spec.batch_size / step
    return f"{told} This machine has {cores} physical cores, which compute at most {here:,.0f} samples/s; expect less here."


def _print_traffic(strategies: list[Outlook], measured: Measurement, machines: Machines) -> None:
    from gradstream.cli.terminal.output import print_table, size

    rows = [(each.name, _demands(each, measured, machines)) for each in strategies]
    saved = ("a push saves", *(f"{share:.0%}" for share in measured.saved.values()))
    print_table(
        ("strategy", *(f">{codec}" for codec in measured.pushed)),
        [saved, *((name, *("-" if rate is None else size(round(rate)) for rate in demands.values())) for name, demands in rows)],
    )


def _of_limit(found: Outlook) -> str:
    if found.distance is not None:
        return f"{found.distance:.0%}" + (" diverges" if found.distance >= 1 else "")
    return {True: "settles", False: "diverges", None: "unknown"}[found.settles]

"""The text output of `gradstream sim`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradstream.cli.terminal.output import number, size

if TYPE_CHECKING:
    from gradstream.sim.figures import Curve, CurvePoint
    from gradstream.sim.result import Result
    from gradstream.sim.times.speeds import Speeds
    from gradstream.spec import JobSpec

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 48
_MAX_RANKS = 16
_MAX_BINS = 10


def summary(spec: JobSpec, result: Result, curve: Curve, speeds: Speeds, *, how: str) -> str:
    """Return the summary of a run. `how`: the way it ended, such as 'done' or 'interrupted'."""
    from gradstream.sim.figures import alerts

    lines = [title(spec)]
    if result.center.numel() <= 1000:
        shown = ", ".join(f"{value:.6g}" for value in result.center[:8].tolist())
        lines.append(f"center     ({shown}{', ...' if result.center.numel() > 8 else ''})")
    lines.append(f"version    {result.version} after {result.events} pushes, at time {result.time:g}{how and f' ({how})'}")
    lines += [*_momentum(spec), *_staleness(result), *_speed(spec, result), *_time(result, speeds)]
    lines += [*_curves(curve), *_ledger(result)]
    lines += [f"alert      {alert}" for alert in alerts(spec, result)]
    return "\n".join(lines)


def title(spec: JobSpec) -> str:
    workers = _counted(spec.roles.worker.count, "worker")
    shards = "without servers" if spec.roles.serverless else _counted(spec.shards, "shard")
    return f"{spec.strategy.name} under {spec.effective_gate}, {workers}, {shards}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def progress(point: CurvePoint, total: int | None) -> str:
    """`12,345/90,000 samples  time 812  loss 0.31  accuracy 0.94`"""
    parts = [f"{point.samples:,}{f'/{total:,}' if total else ''} samples", f"time {number(point.time)}"]
    parts += [f"loss {number(point.loss)}"] if point.loss is not None else []
    parts += [f"{name} {number(value)}" for name, value in sorted(point.scores.items()) if name != "loss"]
    return "  ".join(parts)


def sparkline(values: Sequence[float]) -> str:
    """From the lowest to the highest of them. `?`: not finite."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    return "".join(_bar((value - low) / (high - low) if high > low else 0.5) if math.isfinite(value) else "?" for value in values)


def _bar(step: float) -> str:
    return _BARS[min(len(_BARS) - 1, int(step * len(_BARS)))]


def _momentum(spec: JobSpec) -> list[str]:
    from gradstream.sim.figures import momentum

    found = momentum(spec)
    if not found:
        return []
    asked, used = found
    n = spec.roles.worker.count
    return [f"momentum   {used:.4g} at the server: {asked:g} less the {asked - used:.4g} that {n} workers add"]


def _staleness(result: Result) -> list[str]:
    from gradstream.sim.figures import staleness

    found = staleness(result)
    if found["mean"] is None:
        return ["staleness  no push has counted"]
    percentiles = ", ".join(f"{name} {found[name]}" for name in ("p50", "p90", "p99"))
    lines = [f"staleness  mean {found['mean']:.3f}, {percentiles}, highest {found['max']}"]
    counts = {int(value): count for value, count in found["counts"].items()}
    if found["max"] == 0:
        return lines
    width = -(-(found["max"] + 1) // _MAX_BINS)
    bins = [sum(counts.get(value, 0) for value in range(low, low + width)) for low in range(0, found["max"] + 1, width)]
    for k, count in enumerate(bins):
        span = f"{k * width}" if width == 1 else f"{k * width}-{k * width + width - 1}"
        lines.append(f"  {span:>9}  {'█' * round(30 * count / max(bins)) or '·':30}  {count / sum(bins):6.1%}")
    return lines


def _speed(spec: JobSpec, result: Result) -> list[str]:
    if not result.time:
        return []
    rate = f"{number(result.samples / result.time)} samples, {number(result.events / result.time)} pushes per unit of virtual time"
    moved = f"pushed {size(result.bytes.pushed)}, pulled {size(result.bytes.pulled)}"
    traffic = f"{moved}, {size(round(sum(result.bytes) / result.time))} per unit of virtual time"
    return [f"throughput {rate}", f"traffic    {'none: vectors stay in shared memory' if spec.shares_memory else traffic}"]


def _time(result: Result, speeds: Speeds) -> list[str]:
    from gradstream.sim.figures import shares

    lines = []
    if any(result.wait.values()):
        for share in shares(result, speeds):
            who = f"{share.workers} {'workers' if share.name == 'all' else share.name}"
            spent = f"{number(share.wait)} of {number(share.compute + share.wait)}"
            lines.append(f"waiting    {share.waiting:.1%} of the time of {who}: {spent}")
    if result.failures:
        lines.append(f"lost       {result.failures} incarnations of workers")
    return lines


def _curves(curve: Curve) -> list[str]:
    curves: dict[str, list[float]] = {"loss": [point.loss for point in curve.points if point.loss is not None]}
    for point in curve.points:
        for name, value in point.scores.items():
            curves.setdefault(f"eval/{name}", []).append(value)
        for name, value in point.observed.items():
            curves.setdefault(f"train/{name}", []).append(value)
    lines, width = [], max(14, *map(len, curves))
    for name, values in curves.items():
        if len(values) > 1:
            shown = values[:: -(-len(values) // _WIDTH)]
            lines.append(f"{name:<{width}}  {number(values[0]):>8} {sparkline(shown)} {number(values[-1])}")
        elif values:
            lines.append(f"{name:<{width}}  {number(values[0]):>8}")
    return lines


def _ledger(result: Result) -> list[str]:
    accounts = sorted(result.ledger.items())
    if len(accounts) > _MAX_RANKS:
        totals = {key: sum(getattr(account, key) for _, account in accounts) for key in ("pushed", *_OUTCOMES)}
        return ["pushes     " + ", ".join(f"{key} {count:,}" for key, count in totals.items())]
    lines = ["rank  pushed  applied  deferred  dropped  pending  last loss"]
    for rank, account in accounts:
        counts = (account.pushed, account.applied, account.deferred, account.dropped, account.pending)
        last = f"{result.losses[rank][-1]:9.4g}" if result.losses.get(rank) else ""
        lines.append("{:4}  {:6}  {:7}  {:8}  {:7}  {:7}  {}".format(rank, *counts, last))
    return lines


_OUTCOMES = ("applied", "deferred", "dropped", "pending")

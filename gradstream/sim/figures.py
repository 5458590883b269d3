"""The figures of a simulation, which `gradstream sim` prints, plots and gives as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from gradstream.center.ledger import starved_workers
from gradstream.evaluation.judge import Judge, StopReason
from gradstream.optim.spec import Sgd
from gradstream.sim.result import Result
from gradstream.sim.times.speeds import Speeds
from gradstream.sim.view import View
from gradstream.spec import JobSpec


@dataclass(frozen=True)
class CurvePoint:
    """A point of a curve."""

    time: float
    samples: int
    version: int
    loss: float | None
    """Mean over the mini-batches since the point before."""
    scores: dict[str, float]
    """On the evaluation split; empty for a toy."""
    observed: dict[str, float] = field(default_factory=dict)
    """Figures of the last examples that workers observed."""


@dataclass
class Curve:
    """A watch that records points, and ends the run when the job's target is reached or its patience runs out."""

    spec: JobSpec
    evaluate: Callable[[View], dict[str, float]] = lambda view: {}
    said: Callable[[CurvePoint], None] = lambda point: None
    points: list[CurvePoint] = field(default_factory=list)
    stopped_by: StopReason | None = None

    def __post_init__(self) -> None:
        self._judge = Judge(self.spec)

    def __call__(self, view: View) -> bool:
        point = CurvePoint(view.time, view.samples, view.version, view.loss, self.evaluate(view), view.figures())
        self.points.append(point)
        self.said(point)
        if point.scores:
            self.stopped_by = self._judge.judge(point.scores, samples=view.samples, version=view.version).stop
        return self.stopped_by is not None


@dataclass(frozen=True)
class Share:
    """The virtual time that a class of workers spent computing and waiting."""

    name: str
    workers: int
    compute: float
    wait: float
    """Both are means of one worker."""

    @property
    def waiting(self) -> float:
        """Share of the time spent waiting, from 0 to 1."""
        return self.wait / (self.compute + self.wait) if self.compute + self.wait else 0.0


def shares(result: Result, speeds: Speeds) -> list[Share]:
    """Return the share of all workers, and of the slower ones and the others where the speeds differ."""
    ranks = sorted(result.compute)
    slow = [rank for rank in ranks if speeds.slow(rank, len(ranks))]
    fast = [rank for rank in ranks if rank not in set(slow)]
    found = [_share("all", ranks, result)]
    return [*found, _share("slower", slow, result), _share("others", fast, result)] if slow and fast else found


def _share(name: str, ranks: list[int], result: Result) -> Share:
    return Share(name, len(ranks), fmean(result.compute[rank] for rank in ranks), fmean(result.wait[rank] for rank in ranks))


def staleness(result: Result) -> dict[str, Any]:
    """Return mean, percentiles and counts of the staleness of pushes that counted."""
    ordered = sorted(result.staleness)
    if not ordered:
        return {"mean": None, "p50": None, "p90": None, "p99": None, "max": None, "counts": {}}

    def percentile(p: int) -> int:
        return ordered[min(len(ordered) - 1, len(ordered) * p // 100)]

    counts = {str(value): count for value, count in sorted(Counter(ordered).items())}
    return {
        "mean": fmean(ordered),
        "p50": percentile(50),
        "p90": percentile(90),
        "p99": percentile(99),
        "max": ordered[-1],
        "counts": counts,
    }


def rates(points: list[CurvePoint]) -> list[float]:
    """Return the samples per unit of virtual time between each point and the one before."""
    before, found = (0.0, 0), []
    for point in points:
        passed = point.time - before[0]
        found.append((point.samples - before[1]) / passed if passed > 0 else 0.0)
        before = (point.time, point.samples)
    return found


def momentum(spec: JobSpec) -> tuple[float, float] | None:
    """Return the momentum in the job file and the one that the server uses; None unless it corrects for asynchrony."""
    optimizer = spec.optimizer if spec.strategy.descends == "server" else spec.server_optimizer
    if isinstance(optimizer, Sgd) and optimizer.momentum_correction:
        return optimizer.momentum, optimizer.effective_momentum(spec.roles.worker.count)
    return None


def alerts(spec: JobSpec, result: Result) -> list[str]:
    """Return the platform's alerts for workers whose pushes were all dropped."""
    return [found.sentence(spec.effective_gate) for found in starved_workers(result.decisions, spec.roles.worker.count)]


def facts(spec: JobSpec, result: Result, curve: Curve, speeds: Speeds, *, small: bool) -> dict[str, Any]:
    """Return the figures for programs. `small`: include the center itself."""
    corrected = momentum(spec)
    return {
        **({"center": result.center.tolist()} if small else {"parameters": result.center.numel()}),
        "version": result.version,
        "staleness": result.staleness,
        "staleness_summary": staleness(result),
        "ledger": {str(rank): asdict(account) | {"pending": account.pending} for rank, account in sorted(result.ledger.items())},
        "events": result.events,
        "samples": result.samples,
        "time": result.time,
        "samples_per_time": result.samples / result.time if result.time else None,
        "waiting": [asdict(share) | {"share": share.waiting} for share in shares(result, speeds)],
        "bytes": result.bytes._asdict(),
        "failures": result.failures,
        "alerts": alerts(spec, result),
        "target_reached": curve.stopped_by == "target",
        "stopped_by": curve.stopped_by,
        "effective_momentum": corrected[1] if corrected else None,
        "passes": [{"number": number} | found for number, found in result.passes],
        "series": [asdict(point) for point in curve.points],
    }

"""Runs on quadratics, where theory is exact: who is stale, where a rate becomes unstable, what momentum asynchrony has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import torch

from gradstream import sim
from gradstream.optim.spec import Sgd
from gradstream.sim.times.costs import Costs
from gradstream.sim.toys import Quadratic, Toy, job
from gradstream.spec import JobSpec
from gradstream.training.problem import Gradient

Array = numpy.ndarray[Any, Any]
FAR = 1e12
"""Where a run that began at 1 has diverged without doubt."""


def staleness(*, workers: int, speeds: str, events: int) -> dict[str, Any]:
    """How stale the pushes of asynchronous SGD are, on the toy problem."""
    spec = job({"name": "async", "lr": 1e-4}, workers=workers)
    seen = sim.run(spec, Toy, costs=Costs(speeds=speeds), events=events).staleness
    return {
        "histogram": sorted(Counter(seen).items()),
        "mean": round(sum(seen) / len(seen), 4),
        "largest": max(seen),
        "settled": round(sum(seen[events // 2 :]) / (events - events // 2), 4),
    }


# ---- stability ----------------------------------------------------------------------------------------------------------


class Parabola(Quadratic):
    """x^2 / 2 from 1, in float64."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        one = torch.ones(1, dtype=torch.float64)
        super().__init__(spec, rank, one.clone(), one, torch.zeros(1, dtype=torch.float64))

    def gradient(self, position: int) -> Gradient:
        return Gradient(self.theta.clone(), 0.0, 1)  # its loss would overflow where only the slope matters


def edge(
    *, strategy: Mapping[str, Any], workers: int, halvings: int, events: int, lowest: float = 0.01, highest: float = 10.0
) -> dict[str, Any]:
    """The smallest rate at which the center of x^2 / 2 grows, workers coming in turn: by halving between these two."""
    low, high = lowest, highest
    for _ in range(halvings):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if growth({**strategy, "lr": middle}, workers, events) < 0 else (low, middle)
    return {"edge": round(math.sqrt(low * high), 6), "within": round(high / low - 1, 6)}


def growth(strategy: Mapping[str, Any], workers: int, events: int) -> float:
    """How the distance from the minimum changes in the second half of a run: its logarithm per event. Far out: infinite."""
    path = distances_of(strategy, workers, events)
    if path is None:
        return math.inf
    half, width = len(path) // 2, max(4 * workers, 8)
    before, after = max(path[half : half + width]), max(path[-width:])
    return -math.inf if after < 1e-250 else math.log(after / before) / (len(path) - half - width)


def distances_of(strategy: Mapping[str, Any], workers: int, events: int) -> list[float] | None:
    """|x| of the center after each push; None: beyond FAR."""
    path: list[float] = []

    def watch(view: Any) -> bool:
        path.append(abs(float(view.center())))
        return not path[-1] < FAR

    spec = job(strategy, workers=workers, batch_size=1)
    sim.run(spec, Parabola, costs=Costs(), events=events, watch=watch, watch_every=1)
    return path if path[-1] < FAR else None


def distances(*, strategy: Mapping[str, Any], workers: int, rates: Sequence[float], events: int) -> dict[str, Any]:
    """log10 of how far from the minimum a run ends, for each rate; None: beyond FAR."""
    ends = []
    for rate in rates:
        path = distances_of({**strategy, "lr": rate}, workers, events)
        ends.append(None if path is None else round(math.log10(max(1e-30, max(path[-4 * workers :]))), 2))
    return {"ends": ends}


# ---- momentum -----------------------------------------------------------------------------------------------------------


class Traced(Quadratic):
    """x^2 / 2 with noisy gradients, which writes down where each is taken: every worker pulls right after its push, so these
    are the center's values in the order of its versions."""

    def __init__(self, spec: JobSpec, rank: int, trace: list[float]) -> None:
        one = torch.ones(1, dtype=torch.float64)
        super().__init__(spec, rank, torch.zeros(1, dtype=torch.float64), one, torch.zeros(1, dtype=torch.float64), noise=1.0)
        self._trace = trace

    def gradient(self, position: int) -> Gradient:
        self._trace.append(float(self.theta))
        return super().gradient(position)


def momentum(*, workers: int, target: float | None, lr: float, events: int) -> dict[str, Any]:
    """The momentum that memoryless workers add to the server's, which is none, or `target` with the correction for them.

    Theory, for u(t+1) = x(t+1) - x(t) - m (x(t) - x(t-1)), m the server's momentum: in expectation u(t+1) = added u(t) - pull x(t),
    where added = 1 - 1/n and pull = lr/n. The worker that comes next is not independent of the noise in u(t), so ordinary least
    squares would be biased: positions from before that step are the instruments."""
    trace: list[float] = []
    server = Sgd(momentum=target or 0.0, momentum_correction=target is not None)
    spec = job({"name": "async", "lr": lr}, workers=workers, optimizer=server.model_dump())
    sim.run(spec, lambda spec, rank: Traced(spec, rank, trace), costs=Costs(speeds="memoryless"), events=events)
    settled = numpy.array(trace[workers - 1 :])[events // 20 :]  # at first, all read theta_0
    own = server.effective_momentum(workers)
    added, pull = fit(settled, own, instruments=5 * workers)
    return {"server": round(own, 5), "added": round(added, 5), "total": round(own + added, 5), "pull": round(pull, 6)}


def fit(x: Array, own: float, instruments: int) -> tuple[float, float]:
    """`added` and `pull` of `momentum`, from the moments with x(t-1), x(t-2), ..."""
    d = numpy.diff(x)
    u = d[1:] - own * d[:-1]  # u[k] is the step to x[k + 2]
    now, before, at = u[instruments:], u[instruments - 1 : -1], x[instruments + 1 : -1]
    moments = []
    for back in range(1, instruments + 1):
        earlier = x[instruments - back : instruments - back + len(now)]
        moments.append([now @ earlier, before @ earlier, -(at @ earlier)])
    known, *unknown = numpy.array(moments).T
    (added, pull), *_ = numpy.linalg.lstsq(numpy.array(unknown).T, known, rcond=None)
    return float(added), float(pull)

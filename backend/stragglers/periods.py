"""Times in which a worker was slow: its mini-batches took at least twice as long as the median of the others'. Pure.

Two durations are judged, and the larger factor counts. The whole time between two pushes shows a slow exchange, too. Where a gate
holds the others back, that is the same for all, and the time that the worker itself takes tells."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from backend.metrics.store.points import Array
from backend.stragglers.cells import WorkerCells

SLOW, NOT_SLOW = 2.0, 1.5
"""Times slower than the others at which a time of slowness begins, and below which it ends: those of the alert."""
_WINDOW = 5
"""Cells that are judged together, so that one pause does not make a worker slow."""
_LEAST = 8
"""Cells of a time of slowness, at least: 7 % of a long training, and 8 s of a short one."""
_NOISE = 3.0
"""Standard deviations of a worker's usual fluctuation (of its logarithm) above which a factor is no noise."""
_NORMAL = 1.4826
"""Standard deviations of a normal distribution in its median absolute deviation."""
_PUSHES = 3
_SECONDS = 5.0
"""Least pushes of a worker in all, and seconds of slowness, that a judgement needs."""


@dataclass(frozen=True, slots=True)
class SlowPeriod:
    rank: int
    first: int
    """Its first cell."""
    after: int
    """The cell after its last."""
    factor: float

    inner: slice
    """Its cells without those at its ends, in which it was slow for a part of the time."""


def slow_periods(workers: Mapping[int, WorkerCells]) -> list[SlowPeriod]:
    """By rank, then by time."""
    judged = {rank: one for rank, one in sorted(workers.items()) if one.pushes.sum() >= _PUSHES - 1}
    if len(judged) < 2:
        return []
    smooth, single = _factors(judged, _WINDOW), _factors(judged, 1)
    found = []
    for place, rank in enumerate(judged):
        for first, after in _runs(smooth[place]):
            begin, end = _refined(single[place], first, after)
            if end - begin < _LEAST:
                continue
            inner = _inner(judged[rank], begin, end)
            factor = factor_in(judged, rank, inner)
            if judged[rank].seconds[begin:end].sum() >= _SECONDS and factor >= SLOW:
                found.append(SlowPeriod(rank, begin, end, factor, inner))
    return found


def _inner(one: WorkerCells, first: int, after: int) -> slice:
    there = np.flatnonzero(one.present)
    return slice(first + (first > there[0]), after - (after <= there[-1]))


def factor_in(workers: Mapping[int, WorkerCells], rank: int, cells: slice) -> float:
    """Return how many times as long as the others' the mini-batches of a worker take in these cells."""
    others = [_costs(mean_of(one, cells)) for number, one in workers.items() if number != rank]
    mine = _costs(workers[rank].mean(cells))
    factors = [0.0]
    for kind in (0, 1):
        typical = _median([cost[kind] for cost in others if cost])
        factors.append(mine[kind] / typical if mine and typical > 0 else 0.0)
    return max(factors)


def means_of_others(workers: Mapping[int, WorkerCells], rank: int, cells: slice) -> dict[str, float]:
    """Return the median of the other workers for each part of a mini-batch in these cells."""
    found = [mean for number, one in workers.items() if number != rank and (mean := mean_of(one, cells))]
    return {name: _median([mean[name] for mean in found]) for name in (found[0] if found else ())}


def mean_of(one: WorkerCells, cells: slice) -> dict[str, float] | None:
    """Return the means of a worker in these cells, or of its whole time if it makes less than one push there."""
    return one.mean(cells) if one.pushes[cells].sum() >= 1 else one.mean(slice(None))


def _costs(mean: dict[str, float] | None) -> tuple[float, float] | None:
    return (mean["whole"], sum(mean[name] for name in ("compute", "data", "send", "peer_wait"))) if mean else None


def _median(values: list[float]) -> float:
    return float(np.median(values)) if values else 0.0


def _factors(workers: Mapping[int, WorkerCells], window: int) -> Array:
    """Return the factor of each worker (row) in each cell, over a window around it. NaN: it is not there; 1: it may be noise."""
    found = []
    for kind in ([one.seconds for one in workers.values()], [one.busy for one in workers.values()]):
        cost = np.stack([_per_push(seconds, one, window) for seconds, one in zip(kind, workers.values(), strict=True)])
        factor = _against_others(_kept_after_end(cost))
        factor[factor < np.exp(_NOISE * _fluctuation(cost))] = 1.0
        found.append(factor)
    both = np.stack(found)
    both[:, np.stack([one.present == 0 for one in workers.values()])] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        factors: Array = np.nanmax(both, axis=0)
    return factors


def _fluctuation(cost: Array) -> float:
    """Return the standard deviation of the logarithm of a worker's costs, robustly: of its median, and of the median worker. So
    neither a slow worker nor one that becomes slow counts as noise."""
    found = []
    for row in cost:
        logarithms = np.log(row[np.isfinite(row) & (row > 0)])
        if len(logarithms):
            found.append(float(np.median(np.abs(logarithms - np.median(logarithms)))))
    return _NORMAL * sorted(found)[(len(found) - 1) // 2] if found else 0.0


def _per_push(seconds: Array, one: WorkerCells, window: int) -> Array:
    """Seconds of a mini-batch in each cell; NaN: no push, or it is not there."""
    pushes = _summed(one.pushes, window)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.where((pushes > 0) & (one.present > 0), _summed(seconds, window) / pushes, np.nan)
    return found / one.steps


def _summed(values: Array, window: int) -> Array:
    """The sum over the cells around each, fewer at both ends."""
    found: Array = np.convolve(values, np.ones(window), mode="full")[window // 2 : window // 2 + len(values)]
    return found


def _kept_after_end(cost: Array) -> Array:
    """Fill the cells after a worker's end with what its mini-batches took last."""
    found = cost.copy()
    for row in found:
        known = np.flatnonzero(np.isfinite(row))
        if len(known):
            row[known[-1] + 1 :] = row[known[-1]]
    return found


def _against_others(cost: Array) -> Array:
    found = np.full(cost.shape, np.nan)
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for place in range(len(cost)):
            found[place] = cost[place] / np.nanmedian(np.delete(cost, place, axis=0), axis=0)
    found[~np.isfinite(found)] = np.nan
    return found


def _runs(factor: Array) -> Iterator[tuple[int, int]]:
    """Yield the first cell and the one after the last of each time of slowness. Cells without a factor end none."""
    first, last = None, 0
    for cell, value in enumerate(factor.tolist()):
        if value >= SLOW and first is None:
            first, last = cell, cell
        elif value >= NOT_SLOW and first is not None:
            last = cell
        elif value < NOT_SLOW and first is not None:
            yield first, last + 1
            first = None
    if first is not None:
        yield first, last + 1


def _refined(single: Array, first: int, after: int) -> tuple[int, int]:
    """Move both ends to where single cells become slow: a window sees that some cells late or early."""
    slow = np.nan_to_num(single) >= NOT_SLOW
    begin, end = first, after
    while begin > max(0, first - _WINDOW) and slow[begin - 1]:
        begin -= 1
    while begin < min(first + _WINDOW, after - 1) and not slow[begin]:
        begin += 1
    while end < min(len(slow), after + _WINDOW) and slow[end]:
        end += 1
    while end > max(after - _WINDOW, begin + 1) and not slow[end - 1]:
        end -= 1
    return begin, end

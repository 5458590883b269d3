"""New points for a stream: a few of each series, between which no extreme is missed. No database here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from backend.metrics.charts.columns import written
from backend.metrics.schemas import LivePoint, LiveSeries
from backend.metrics.store.points import Array, joined

FEW = 4
"""Up to so many points of a series are sent as they are."""


class Arrived(NamedTuple):
    """Points of one series that came with one batch; `total` is the number of the series' points with them."""

    attempt: int
    source: str
    name: str
    rank: int
    total: int
    points: Array


def summarized(parts: Iterable[Arrived]) -> list[LiveSeries]:
    """One entry for each series, in the order in which they come first."""
    found: dict[tuple[int, str, str, int], list[Arrived]] = defaultdict(list)
    for part in parts:
        found[part.attempt, part.source, part.name, part.rank].append(part)
    return [_series(several) for several in found.values()]


def _series(parts: list[Arrived]) -> LiveSeries:
    points, last = joined([part.points for part in parts]), parts[-1]
    finite = points["value"][np.isfinite(points["value"])]
    with np.errstate(over="ignore"):
        total = float(finite.sum())
    return LiveSeries(
        attempt=last.attempt,
        source=last.source,
        rank=last.rank,
        name=last.name,
        total=last.total,
        count=len(points),
        sum=total,
        odd=len(points) - len(finite),
        points=_written(points[_telling(points)]),
    )


def _telling(points: Array) -> Array:
    """Return the places of the first, a lowest, a highest and the last point; of all, if they are few."""
    if len(points) <= FEW:
        return np.arange(len(points))
    value = np.where(np.isfinite(points["value"]), points["value"], np.nan)
    ends = [0, len(points) - 1]
    if not np.isnan(value).all():
        ends += [int(np.nanargmin(value)), int(np.nanargmax(value))]
    return np.unique(ends)


def _written(points: Array) -> list[LivePoint]:
    columns = [points[axis].tolist() for axis in ("step", "samples", "version", "time")]
    return list(zip(*columns, written(points["value"]), strict=True))

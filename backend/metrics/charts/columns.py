"""Columns of a chart: find the column of each point, and summarize the points of a column for drawing. No database here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from backend.metrics.store.points import Array

BELOW = -1


@dataclass(frozen=True, slots=True)
class Grid:
    """`count` columns, equal slices of [start, end] on one axis. `end` is in the last of them."""

    axis: str
    start: float
    end: float
    count: int

    @property
    def above(self) -> int:
        return self.count

    def columns(self, x: Array, rolled_back_from: Array | float) -> Array:
        """The column of each x; BELOW and `above` for those that are not drawn. Never falls as x grows.

        `rolled_back_from`: points there or above it were rolled back."""
        width = (self.end - self.start) / self.count
        within = np.clip((x - self.start) / width, 0, self.count - 1) if width > 0 else np.zeros(len(x))
        found: Array = within.astype(np.int64)
        found[x < self.start] = BELOW
        found[(x > self.end) | (x >= rolled_back_from)] = self.above
        return found


PIECE = np.dtype(
    [("series", "<i8"), ("column", "<i8"), ("at", "<i8"), ("until", "<i8"), ("x", "<f8"), ("count", "<i8"), ("odd", "<i8")]
    + [(name, "<f8") for name in ("sum", "first", "last", "low", "high")]
)
"""Some points of a series that fall into one column; others of the column may lie between them. `at` and `until`: places in the
series of the first and the last; `x`: where the first lies. The rest is as in a SUMMARY."""

Rows = Array | Mapping[str, Array]
"""Columns by name: a structured array or a dictionary."""


def needed(axis: str) -> tuple[str, ...]:
    """Return the fields of summaries that `pieces` reads."""
    return ("count", "odd", "sum", "first", "last", "low", "high", f"{axis}_first", f"{axis}_min", f"{axis}_max")


def of_points(axis: str, points: Rows) -> Rows:
    """A summary of each point, as far as it is needed."""
    x, value = points[axis], points["value"]
    finite = np.isfinite(value)
    known = value if finite.all() else np.where(finite, value, np.nan)
    return {
        "count": np.ones(len(value), np.int64),
        "odd": (~finite).astype(np.int64),
        "sum": np.where(finite, value, 0.0),
        "first": value,
        "last": value,
        "low": known,
        "high": known,
        f"{axis}_first": x,
        f"{axis}_min": x,
        f"{axis}_max": x,
    }


def pieces(grid: Grid, series: Array, at: Array, rows: Rows, rolled_back_from: Array) -> tuple[Array, Array]:
    """Return the pieces that lie inside one column, and a mask of the rows to open, as those may lie in several.

    `rows`: summaries by series and place; `at`: the places in the series where they begin; `rolled_back_from`: one for each series.
    Consecutive rows of one column make one piece. Places grow nearly always, so few pieces are left to sort.
    """
    axis = grid.axis
    rolled_back = rolled_back_from[series]
    first = grid.columns(rows[f"{axis}_min"], rolled_back)
    last = first if rows[f"{axis}_max"] is rows[f"{axis}_min"] else grid.columns(rows[f"{axis}_max"], rolled_back)
    whole = first == last
    drawn = np.flatnonzero(whole & (first != BELOW) & (first != grid.above))
    kept = {name: rows[name][drawn] for name in ("count", "odd", "sum", "first", "last", "low", "high")}
    kept |= {"series": series[drawn], "column": first[drawn], "at": at[drawn], "x": rows[f"{axis}_first"][drawn]}
    kept["until"] = kept["at"] + kept["count"] - 1
    return _joined(kept), ~whole


def merge(found: Array) -> Array:
    """One piece for each column of each series, by series and column."""
    return _joined(found[np.lexsort((found["at"], found["column"], found["series"]))])


def _joined(rows: Rows) -> Array:
    """Join consecutive rows of one column into one piece. `rows` has the columns of PIECE; `at` rises in each series."""
    series, column = rows["series"], rows["column"]
    change = (series[1:] != series[:-1]) | (column[1:] != column[:-1])
    starts = np.append(0, np.flatnonzero(change) + 1)[: len(series)]
    into = np.empty(len(starts), PIECE)
    if not len(starts):
        return into
    for name in ("series", "column", "at", "x", "first"):
        into[name] = rows[name][starts]
    with np.errstate(over="ignore", invalid="ignore"):
        for name in ("count", "odd", "sum"):
            into[name] = np.add.reduceat(rows[name], starts)
    into["low"], into["high"] = np.fmin.reduceat(rows["low"], starts), np.fmax.reduceat(rows["high"], starts)
    into["until"] = np.maximum.reduceat(rows["until"], starts)
    latest = np.flatnonzero(rows["until"] == np.repeat(into["until"], np.diff(np.append(starts, len(series)))))
    into["last"] = rows["last"][latest]
    return into


def drawn(found: Array) -> dict[str, list[float | int | None]]:
    """The columns of one series as the API gives them: list by list, None for a value that is not finite."""
    finite = found["count"] - found["odd"]
    with np.errstate(all="ignore"):
        mean = np.where(finite > 0, found["sum"] / np.maximum(finite, 1), np.nan)
    values = {name: found[name] for name in ("first", "low", "high", "last")} | {"mean": mean}
    return {
        "x": found["x"].tolist(),
        **{name: written(column) for name, column in values.items()},
        "count": found["count"].tolist(),
        "odd": found["odd"].tolist(),
    }


def written(values: Array) -> list[float | int | None]:
    """JSON has no NaN."""
    plain: list[float | int | None] = values.tolist()
    for place in np.flatnonzero(~np.isfinite(values)):
        plain[place] = None
    return plain

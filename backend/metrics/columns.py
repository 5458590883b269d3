"""Columns of a chart: which of them a point falls into, and what is drawn of those that fall into one. No database here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from backend.metrics import blocks
from backend.metrics.blocks import SUMMARY
from backend.metrics.points import Array

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

    def columns(self, x: Array, undone_from: Array | float) -> Array:
        """The column of each x; BELOW and `above` for those that are not drawn. Never falls as x grows.

        `undone_from`: what lies there or above it was undone."""
        width = (self.end - self.start) / self.count
        within = np.clip((x - self.start) / width, 0, self.count - 1) if width > 0 else np.zeros(len(x))
        found: Array = within.astype(np.int64)
        found[x < self.start] = BELOW
        found[(x > self.end) | (x >= undone_from)] = self.above
        return found


PIECE = np.dtype([("series", "<i8"), ("column", "<i8"), ("at", "<i8"), ("until", "<i8"), ("summary", SUMMARY)])
"""Some points of a series that fall into one column; others of the column may lie between them. `at` and `until`: places in the
series of the first and the last."""


def pieces(grid: Grid, series: Array, at: Array, summaries: Array, undone_from: Array) -> tuple[Array, Array]:
    """Pieces of what lies inside one column, and which of the summaries have to be opened, as they may lie in several.

    `undone_from`: for each series."""
    undone = undone_from[series]
    first = grid.columns(summaries[f"{grid.axis}_min"], undone)
    whole = first == grid.columns(summaries[f"{grid.axis}_max"], undone)
    drawn = whole & (first != BELOW) & (first != grid.above)
    found = np.empty(int(drawn.sum()), PIECE)
    found["series"], found["column"], found["at"], found["summary"] = series[drawn], first[drawn], at[drawn], summaries[drawn]
    found["until"] = found["at"] + found["summary"]["count"] - 1
    return found, ~whole


def merge(found: Array) -> Array:
    """One piece for each column of each series, by series and column."""
    if not len(found):
        return found
    found = found[np.lexsort((found["at"], found["column"], found["series"]))]
    change = (found["series"][1:] != found["series"][:-1]) | (found["column"][1:] != found["column"][:-1])
    starts = np.append(0, np.flatnonzero(change) + 1)
    into = np.empty(len(starts), PIECE)
    for name in ("series", "column", "at"):
        into[name] = found[name][starts]
    into["summary"] = blocks.merged(found["summary"], starts)
    into["until"] = np.maximum.reduceat(found["until"], starts)
    latest = np.flatnonzero(found["until"] == np.repeat(into["until"], np.diff(np.append(starts, len(found)))))
    into["summary"]["last"] = found["summary"]["last"][latest]
    return into


def drawn(axis: str, found: Array) -> dict[str, list[float | int | None]]:
    """The columns of one series as the API gives them: list by list, None for what is not finite."""
    summary = found["summary"]
    finite = summary["count"] - summary["odd"]
    with np.errstate(all="ignore"):
        mean = np.where(finite > 0, summary["sum"] / np.maximum(finite, 1), np.nan)
    values = {name: summary[name] for name in ("first", "low", "high", "last")} | {"mean": mean}
    return {
        "x": summary[f"{axis}_first"].tolist(),
        **{name: written(column) for name, column in values.items()},
        "count": summary["count"].tolist(), "odd": summary["odd"].tolist(),
    }  # fmt: skip


def written(values: Array) -> list[float | int | None]:
    """JSON has no NaN."""
    plain: list[float | int | None] = values.tolist()
    for place in np.flatnonzero(~np.isfinite(values)):
        plain[place] = None
    return plain

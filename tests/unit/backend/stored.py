"""Series with their blocks and tallies, kept in memory as the database keeps them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from backend.metrics.charts import walk
from backend.metrics.models import MetricSeriesRow
from backend.metrics.store import blocks, pyramid, tally
from backend.metrics.store.points import POINT, Array

SIZES = (1, 2, 255, 257, 700, 16_384, 20_000, 40_000)
ORDERS = ("rising", "back once", "shuffled", "same", "backwards")


def measured(seed: int, size: int, order: str, odd: float, begin: int) -> Array:
    """Points whose values are whole numbers, so that sums are exact, and some that are no numbers."""
    rng = np.random.default_rng(seed)
    points = np.empty(size, POINT)
    at = np.arange(begin, begin + size)
    match order:
        case "back once":  # a replaced worker goes back to its last checkpoint
            at[size // 2 :] -= size // 4
        case "shuffled":
            rng.shuffle(at)
        case "same":
            at[:] = begin
        case "backwards":
            at = at[::-1]
    points["step"], points["samples"], points["version"], points["time"] = at, 32 * at, at // 3, 1e9 + at / 8
    points["value"] = rng.integers(-1000, 1000, size)
    spoilt = rng.random(size) < odd
    points["value"][spoilt] = rng.choice([math.nan, math.inf, -math.inf], int(spoilt.sum()))
    return points


@dataclass
class Stored:
    lines: list[walk.Line] = field(default_factory=list)
    raw: list[Array] = field(default_factory=list)
    blocks: dict[tuple[int, int, int], bytes] = field(default_factory=dict)
    tallies: dict[tuple[int, int, int], bytes | None] = field(default_factory=dict)

    def add(self, attempt: int, rank: int, points: Array, folds: list[float]) -> None:
        """`folds`: at which shares of the points they were folded; what comes after the last still waits."""
        row = MetricSeriesRow(
            id=len(self.lines), attempt=attempt, source=f"worker-{rank}", name="train/loss", rank=rank, count=len(points), folded=0
        )
        summary: Array | None = None
        whole: Array | None = None
        for end in sorted(int(share * len(points)) for share in folds):
            if end > row.folded:
                tails = {place: self._block(row.id, place) for place in pyramid.tails(row.folded)}
                grown = pyramid.grow(row.folded, summary, tails, points[row.folded : end])
                self.blocks |= {(row.id, *place): blocks.pack(block) for place, block in grown.blocks.items()}
                tallied = tally.grow(row.folded, whole, self._tallies(row), points["value"][row.folded : end])
                assert tallied.blocks.keys() == {place for place in grown.blocks if place[0]}
                self.tallies |= {(row.id, *place): tally.pack(each) for place, each in tallied.blocks.items()}
                summary, whole, row.folded = grown.summary, tallied.whole, end
        self.lines.append(walk.Line(row, summary, points[row.folded :]))
        self.raw.append(points)

    def _block(self, series: int, place: pyramid.Place) -> Array:
        return blocks.unpack([self.blocks[series, *place]], blocks.SUMMARY if place[0] else POINT)[0]

    def _tallies(self, row: MetricSeriesRow) -> dict[pyramid.Place, Array | None]:
        return {place: tally.unpack(self.tallies[row.id, *place]) for place in tally.tails(row.folded)}

    def rolled_back_from(self, place: int, axis: str) -> float:
        """Where what a series had made was rolled back, from its points and those of the others."""
        its = self.lines[place].row
        later = [
            raw[axis].min()
            for line, raw in zip(self.lines, self.raw, strict=True)
            if line.row.attempt > its.attempt and line.row.source == its.source
        ]
        return float(min(later, default=math.inf)) if axis != "time" else math.inf


series = st.tuples(
    st.integers(0, 2**32 - 1),
    st.sampled_from(SIZES),
    st.sampled_from(ORDERS),
    st.sampled_from([0.0, 0.01, 0.5, 1.0]),
    st.lists(st.floats(0, 1), max_size=4),
)
several_series = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 1), st.integers(0, 25_000), series), min_size=1, max_size=5)
"""(attempt, rank, where the first lies, the rest)"""
shares = st.one_of(st.none(), st.tuples(st.floats(0, 1), st.floats(0, 1)))
"""Of an extent: the ends of a range."""


def range_of(stored: Stored, axis: str, ends: tuple[float, float] | None) -> tuple[float, float] | None:
    everywhere = np.concatenate([raw[axis] for raw in stored.raw]).astype(float)
    low, high = float(everywhere.min()), float(everywhere.max())
    return None if ends is None else (low + min(ends) * (high - low), low + max(ends) * (high - low))

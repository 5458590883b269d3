"""A chart of ten million points: `python -m benchmarks.charts`.

One series is stored, with one point that stands out. Then charts of several ranges are made as the API makes them, and as one would
without summaries: by reading every point. Both must say the same, and the point that stands out must be in its column."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np

from backend.metrics import blocks, drawing, pyramid, repository, walk
from backend.metrics.columns import Grid, drawn, merge, of_points, pieces
from backend.metrics.drawing import Asked
from backend.metrics.points import POINT, Array
from backend.metrics.schemas import Axis
from benchmarks import common, storing
from benchmarks.common import said, spread, table
from benchmarks.storing import Place

NAME, COLUMNS, SPIKE = "train/loss", 800, 1e6
_AT_ONCE = 1_000_000
ORDERS = ("in order", "one worker came back")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7, help="each chart is made so often")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with storing.place() as at, storing.api(at) as (client, _):
        rows = [
            row for order, job_id in zip(ORDERS, storing.submit(client, len(ORDERS)), strict=True)
            for row in _measure(at, UUID(job_id), order, args.points, args.rounds)
        ]  # fmt: skip
    result = {**common.about(points=args.points, rounds=args.rounds, columns=COLUMNS), "rows": rows}
    print(json.dumps(result) if args.json else "\n".join(markdown(result)))


def markdown(result: dict[str, Any]) -> list[str]:
    header = ("Order", "Range", "Points in it", "Server, ms", "Reply, kB", "Blocks read", "Every point read, ms", "Times faster")
    rows = [
        (row["order"], row["range"], f"{row['points']:,}", said(row["ms"], 1), f"{row['kb']:.1f}", f"{row['blocks']:,}",
         f"{row['naive_ms']:,.0f}", f"{row['naive_ms'] / row['ms']['median']:,.0f}")
        for row in result["rows"]
    ]  # fmt: skip
    return [*common.head(result), *table(header, rows)]


def _measure(at: Place, job_id: UUID, order: str, points: int, rounds: int) -> list[dict[str, Any]]:
    _store(at, job_id, points, order)
    spike = points * 2 // 3
    ranges = {
        "all": (None, None), "a tenth": (points * 0.6, points * 0.7), "a hundredth": (points * 0.663, points * 0.673),
        "2,000 steps": (spike - 1000.0, spike + 1000.0),
    }  # fmt: skip
    return [_chart(at, job_id, order, name, start, end, rounds) for name, (start, end) in ranges.items()]


def _chart(
    at: Place, job_id: UUID, order: str, name: str, start: float | None, end: float | None, rounds: int
) -> dict[str, Any]:  # fmt: skip
    asked = Asked((NAME,), Axis.STEP, start, end, COLUMNS)
    times, body, reply = [], b"", b""
    for _ in range(rounds):
        began = time.perf_counter()
        with at.platform.database.transaction(snapshot=True) as session:
            body = drawing.draw(session, job_id, asked, None).body or b""
        reply = drawing.compressed(body)
        times.append(time.perf_counter() - began)
    [chart] = json.loads(body)["charts"]
    [series] = chart["series"]
    began = time.perf_counter()
    naive = _every_point(at, job_id, Grid("step", chart["from"], chart["to"], COLUMNS))
    naive_seconds = time.perf_counter() - began
    assert {key: series["columns"][key] for key in ("x", "low", "high", "first", "last", "count", "odd")} == {
        key: naive[key] for key in ("x", "low", "high", "first", "last", "count", "odd")
    }, "a chart differs from its points"
    assert max(series["columns"]["high"]) == SPIKE, "the spike is missing"
    return {
        "order": order, "range": name, "points": sum(series["columns"]["count"]), "ms": spread(times, 1e3), "kb": len(reply) / 1e3,
        "blocks": _opened(at, job_id, chart), "naive_ms": naive_seconds * 1e3,
    }  # fmt: skip


def _store(at: Place, job_id: UUID, count: int, order: str) -> None:
    """A series of so many points in blocks, as `folding` writes them."""
    rng = np.random.default_rng(1)
    with at.platform.database.transaction() as session:
        repository.count(session, job_id, 1, {("worker-0", NAME, 0): count})
        [row] = repository.series(session, job_id)
    folded, summary, written = 0, None, dict[pyramid.Place, Array]()
    while folded < count:
        points = _points(rng, folded, min(_AT_ONCE, count - folded), count, order)
        grown = pyramid.grow(folded, summary, {place: written[place] for place in pyramid.tails(folded)}, points)
        written |= grown.blocks
        folded, summary = folded + len(points), grown.summary
        with at.platform.database.transaction() as session:
            repository.put_blocks(session, ((row.id, place, blocks.pack(block), None) for place, block in grown.blocks.items()))
            repository.set_folded(session, [(row.id, folded, blocks.pack(summary), None)])
        written = {place: written[place] for place in pyramid.tails(folded)}


def _points(rng: np.random.Generator, first: int, size: int, count: int, order: str) -> Array:
    points = np.empty(size, POINT)
    step = np.arange(first, first + size)
    if order == ORDERS[1]:  # at three quarters it goes back by a twentieth, so that x is covered twice there
        step = np.where(step >= count * 3 // 4, step - count // 20, step)
    points["step"], points["samples"], points["version"] = step, 64 * step, 8 * step
    points["time"] = 1.7e9 + 0.01 * np.arange(first, first + size)
    points["value"] = 2.0 * np.exp(-step / count) + rng.normal(scale=0.1, size=size)
    points["value"][np.arange(first, first + size) == count * 2 // 3] = SPIKE
    return points


def _every_point(at: Place, job_id: UUID, grid: Grid) -> dict[str, Any]:
    """The same columns from all blocks of points, one after another."""
    with at.platform.database.transaction() as session:
        [row] = repository.series(session, job_id)
        found, count = [], -(-row.folded // blocks.POINTS)
        for first in range(0, count, walk.OPENED):
            wanted = [(row.id, 0, number) for number in range(first, min(first + walk.OPENED, count))]
            points, _ = blocks.unpack(repository.blocks(session, wanted), POINT)
            at_ = first * blocks.POINTS + np.arange(len(points))
            never = np.array([np.inf])
            found.append(pieces(grid, np.zeros(len(points), np.int64), at_, of_points("step", points), never)[0])
    return drawn(merge(np.concatenate(found)))


def _opened(at: Place, job_id: UUID, chart: dict[str, Any]) -> int:
    """Blocks that this chart reads."""
    read = 0

    def fetch(session: Any, wanted: Sequence[tuple[int, int, int]]) -> list[bytes]:
        nonlocal read
        read += len(wanted)
        return repository.blocks(session, wanted)

    with at.platform.database.transaction() as session:
        lines = [walk.Line(row, blocks.unpack([row.summary], blocks.SUMMARY)[0], np.empty(0, POINT))
                 for row in repository.series(session, job_id) if row.summary]  # fmt: skip
        grid = Grid("step", chart["from"], chart["to"], COLUMNS)
        walk.read(partial(fetch, session), lines, grid, walk.undone_from(lines, "step"))
    return read


if __name__ == "__main__":
    raise SystemExit(common.interruptible(main))

"""A chart of ten million points: `python -m benchmarks.charts`.

One series is stored, with one point that stands out. Then charts of several ranges are made as the API makes them, asked for over
HTTP, and made as one would without summaries: by reading every point. All must say the same, and the point that stands out must
be in its column. Likewise how values that are whole numbers, as staleness is, are distributed over each range."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import httpx
import numpy as np

from backend.metrics import repository
from backend.metrics.charts import drawing, walk
from backend.metrics.charts.columns import Grid, drawn, merge, of_points, pieces
from backend.metrics.charts.drawing import ChartQuery
from backend.metrics.store import blocks, pyramid, tally
from backend.metrics.store.points import POINT, Array
from benchmarks import common, storing
from benchmarks.common import said, spread, table
from benchmarks.storing import Place
from gradstream.api.charts import Axis

NAME, COLUMNS, SPIKE = "train/loss", 800, 1e6
WHOLE, MEAN = "train/staleness", 7.0
_AT_ONCE = 1_000_000
ORDERS = ("in order", "one worker came back")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7, help="each chart is made so often")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with storing.place() as at, storing.api(at) as (client, _):
        *ids, whole = (UUID(job_id) for job_id in storing.submit(client, len(ORDERS) + 1))
        rows = [
            row
            for order, job_id in zip(ORDERS, ids, strict=True)
            for row in _measure(at, client, job_id, order, args.points, args.rounds)
        ]
        distributions = _distributions(at, client, whole, args.points, args.rounds)
    about = common.about(points=args.points, rounds=args.rounds, columns=COLUMNS)
    result = {**about, "rows": rows, "distributions": distributions}
    print(json.dumps(result) if args.json else "\n".join(markdown(result)))


def markdown(result: dict[str, Any]) -> list[str]:
    header = (
        "Order",
        "Range",
        "Points in it",
        "Server, ms",
        "Over HTTP, ms",
        "Reply, kB",
        "Blocks read",
        "Every point read, ms",
        "Times faster",
    )
    rows = [
        (
            row["order"],
            row["range"],
            f"{row['points']:,}",
            said(row["ms"], 1),
            said(row["http_ms"], 1),
            f"{row['kb']:.1f}",
            f"{row['blocks']:,}",
            f"{row['naive_ms']:,.0f}",
            f"{row['naive_ms'] / row['ms']['median']:,.0f}",
        )
        for row in result["rows"]
    ]
    counted = ("Distribution of", "Points in it", "Over HTTP, ms", "Reply, kB", "Every point read, ms", "Times faster")
    distributions = [
        (
            row["range"],
            f"{row['points']:,}",
            said(row["http_ms"], 1),
            f"{row['kb']:.1f}",
            f"{row['naive_ms']:,.0f}",
            f"{row['naive_ms'] / row['http_ms']['median']:,.0f}",
        )
        for row in result["distributions"]
    ]
    return [*common.head(result), *table(header, rows), "", *table(counted, distributions)]


def _ranges(points: int) -> dict[str, tuple[float | None, float | None]]:
    spike = points * 2 // 3
    return {
        "all": (None, None),
        "a tenth": (points * 0.6, points * 0.7),
        "a hundredth": (points * 0.663, points * 0.673),
        "2,000 steps": (spike - 1000.0, spike + 1000.0),
    }


def _measure(at: Place, client: httpx.Client, job_id: UUID, order: str, points: int, rounds: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    _store(at, job_id, NAME, points, lambda first, size: _points(rng, first, size, points, order))
    rows = [_chart(at, job_id, order, name, start, end, rounds) for name, (start, end) in _ranges(points).items()]
    for row, (start, end) in zip(rows, _ranges(points).values(), strict=True):
        row["http_ms"], _ = _asked(client, f"/jobs/{job_id}/chart", {"name": NAME, "columns": COLUMNS}, start, end, rounds)
    return rows


def _asked(
    client: httpx.Client, path: str, params: dict[str, Any], start: float | None, end: float | None, rounds: int
) -> tuple[dict[str, float], httpx.Response]:
    """How long the API takes, from asking to the last byte, and its last answer."""
    ends = {key: value for key, value in (("from", start), ("to", end)) if value is not None}
    times, answer = [], client.get(path, params={**params, **ends}).raise_for_status()
    for _ in range(rounds):
        began = time.perf_counter()
        answer = client.get(path, params={**params, **ends}).raise_for_status()
        times.append(time.perf_counter() - began)
    return spread(times, 1e3), answer


def _distributions(at: Place, client: httpx.Client, job_id: UUID, points: int, rounds: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(2)
    _store(at, job_id, WHOLE, points, lambda first, size: _whole(rng, first, size))
    found = []
    for name, (start, end) in _ranges(points).items():
        ms, answer = _asked(client, f"/jobs/{job_id}/distribution", {"name": WHOLE}, start, end, rounds)
        answered = answer.json()
        began = time.perf_counter()
        values = _values(at, job_id, answered["from"], answered["to"])
        naive_seconds = time.perf_counter() - began
        low, counts = int(answered["low"]), answered["series"][0]["counts"]
        assert counts == np.bincount(values.astype(np.int64) - low, minlength=len(counts)).tolist(), "a distribution differs"
        found.append(
            {
                "range": name,
                "points": answered["count"],
                "http_ms": ms,
                "naive_ms": naive_seconds * 1e3,
                "kb": int(answer.headers["content-length"]) / 1e3,
            }
        )
    return found


def _whole(rng: np.random.Generator, first: int, size: int) -> Array:
    """As staleness is: small whole numbers."""
    points = np.zeros(size, POINT)
    points["step"] = points["samples"] = points["version"] = np.arange(first, first + size)
    points["time"], points["value"] = 1.7e9 + 0.01 * points["step"], rng.poisson(MEAN, size)
    return points


def _values(at: Place, job_id: UUID, start: float, end: float) -> Array:
    """From every block of points, those whose step is in the range."""
    found = [points["value"][(points["step"] >= start) & (points["step"] <= end)] for points in _all_points(at, job_id)]
    return np.concatenate(found)


def _chart(at: Place, job_id: UUID, order: str, name: str, start: float | None, end: float | None, rounds: int) -> dict[str, Any]:
    asked = ChartQuery((NAME,), Axis.STEP, start, end, COLUMNS)
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
        "order": order,
        "range": name,
        "points": sum(series["columns"]["count"]),
        "ms": spread(times, 1e3),
        "kb": len(reply) / 1e3,
        "blocks": _opened(at, job_id, chart),
        "naive_ms": naive_seconds * 1e3,
    }


def _store(at: Place, job_id: UUID, name: str, count: int, made: Callable[[int, int], Array]) -> None:
    """A series of so many points in blocks, as `folding` writes them. `made`: points from a place on, so many."""
    with at.platform.database.transaction() as session:
        repository.count(session, job_id, 1, {("worker-0", name, 0): count})
        [row] = repository.series(session, job_id)
    folded, summary, written = 0, None, dict[pyramid.Place, Array]()
    whole, tallies = tally.EMPTY, dict[pyramid.Place, Array | None]()
    while folded < count:
        points = made(folded, min(_AT_ONCE, count - folded))
        grown = pyramid.grow(folded, summary, {place: written[place] for place in pyramid.tails(folded)}, points)
        counted = tally.grow(folded, whole, tallies, points["value"])
        folded, summary, whole = folded + len(points), grown.summary, counted.whole
        tallies = {place: (counted.blocks if place in counted.blocks else tallies)[place] for place in tally.tails(folded)}
        written |= grown.blocks
        with at.platform.database.transaction() as session:
            new = ((place, blocks.pack(block), tally.pack(counted.blocks.get(place))) for place, block in grown.blocks.items())
            repository.put_blocks(session, ((row.id, *block) for block in new))
            repository.set_folded(session, [(row.id, folded, blocks.pack(summary), tally.pack(whole))])
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
    found, before, never = [], 0, np.array([np.inf])
    for points in _all_points(at, job_id):
        places, series = before + np.arange(len(points)), np.zeros(len(points), np.int64)
        found.append(pieces(grid, series, places, of_points(grid.axis, points), never)[0])
        before += len(points)
    return drawn(merge(np.concatenate(found)))


def _all_points(at: Place, job_id: UUID) -> Iterator[Array]:
    """Those of the only series, some blocks at a time."""
    with at.platform.database.transaction() as session:
        [row] = repository.series(session, job_id)
        count = -(-row.folded // blocks.POINTS)
        for first in range(0, count, walk.OPENED):
            wanted = [(row.id, 0, number) for number in range(first, min(first + walk.OPENED, count))]
            yield blocks.unpack(repository.blocks(session, wanted), POINT)[0]


def _opened(at: Place, job_id: UUID, chart: dict[str, Any]) -> int:
    """Blocks that this chart reads."""
    read = 0

    def fetch(session: Any, wanted: Sequence[tuple[int, int, int]]) -> list[bytes]:
        nonlocal read
        read += len(wanted)
        return repository.blocks(session, wanted)

    with at.platform.database.transaction() as session:
        lines = [
            walk.Line(row, blocks.unpack([row.summary], blocks.SUMMARY)[0], np.empty(0, POINT))
            for row in repository.series(session, job_id)
            if row.summary
        ]
        grid = Grid("step", chart["from"], chart["to"], COLUMNS)
        walk.read(partial(fetch, session), lines, grid, walk.rolled_back_from(lines, "step"))
    return read


if __name__ == "__main__":
    raise SystemExit(common.interruptible(main))

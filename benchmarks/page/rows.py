"""The list of ten thousand jobs on the page: until its rows are painted, and frames while it is scrolled. What the server takes
for it is measured by `benchmarks.listing`."""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks import common
from benchmarks.page.browser import SIZE, Chromium, spent
from benchmarks.page.stage import Stage
from benchmarks.rows import insert_jobs

WANTED_FRAMES = 30.0
_ROWS = "document.querySelectorAll('[role=row][data-status]').length > 5"
_NOTCH_PX, _NOTCHES_PER_S = 300, 20


def measure(stage: Stage, chromium: Chromium, jobs: int, rounds: int, seconds: float) -> dict[str, Any]:
    with stage.at.platform.database.transaction() as session:
        insert_jobs(session, jobs)
    painted = []
    for _ in range(rounds):
        with chromium.context() as context:
            page = context.new_page()
            page.goto("/jobs", wait_until="commit")
            painted.append(page.evaluate(f"watch.until(() => {_ROWS})"))
    scrolled = _scroll(chromium, seconds)
    spread = {"median": statistics.median(painted), "low": min(painted), "high": max(painted)}
    good = scrolled["frames"] >= WANTED_FRAMES
    return {"jobs": jobs, "rounds": rounds, "painted_ms": spread, **scrolled, "good": good}


def _scroll(chromium: Chromium, seconds: float) -> dict[str, float]:
    with chromium.context() as context:
        page = context.new_page()
        page.goto("/jobs")
        page.wait_for_function(_ROWS)
        page.wait_for_timeout(1000)
        page.mouse.move(SIZE[0] / 2, SIZE[1] / 2)
        page.evaluate("watch.count()")
        began, before = time.monotonic(), spent(chromium)
        for notch in range(round(seconds * _NOTCHES_PER_S)):
            page.mouse.wheel(0, _NOTCH_PX)
            page.wait_for_timeout(max(1.0, 1000 * (began + (notch + 1) / _NOTCHES_PER_S - time.monotonic())))
        frames, longest = page.evaluate("[watch.frames, watch.longest]")
        lasted, used = time.monotonic() - began, spent(chromium) - before
    return {"frames": frames / lasted, "longest_ms": longest, "renderer": used.renderer / lasted}


def markdown(found: dict[str, Any]) -> list[str]:
    said = (
        f"{found['jobs']:,} jobs, opened {found['rounds']} times with nothing cached, then scrolled by "
        f"{_NOTCH_PX * _NOTCHES_PER_S:,} px/s; wanted: {WANTED_FRAMES:.0f} frames/s."
    )
    header = ("rows painted, ms (least-most)", "frames/s while scrolled", "longest between two, ms", "renderer")
    row = (common.said(found["painted_ms"], 0), f"{found['frames']:.0f}", f"{found['longest_ms']:.0f}", f"{found['renderer']:.0%}")
    return ["## The list of jobs", "", said, "", *common.table(header, [row])]

"""The list of ten thousand jobs on the page: until its rows are painted, with nothing cached and from another page, and frames
while it is scrolled. What the server takes for it is measured by `benchmarks.listing`."""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks import common
from benchmarks.page.browser import SIZE, Chromium, spent
from benchmarks.page.stage import Stage
from benchmarks.rows import insert_jobs

WANTED_MS, WANTED_FRAMES = 200.0, 30.0
"""From a click on another page, and while it is scrolled."""
_ROWS = "document.querySelectorAll('[role=row][data-status]').length > 5"
_CLICK = f"""async () => {{
  const began = performance.now()
  document.querySelector("nav a[href='/jobs']").click()
  return await watch.until(() => {_ROWS}) - began
}}"""
_NOTCH_PX, _NOTCHES_PER_S = 300, 20


def measure(stage: Stage, chromium: Chromium, jobs: int, rounds: int, seconds: float) -> dict[str, Any]:
    with stage.at.platform.database.transaction() as session:
        insert_jobs(session, jobs)
    cold, clicked = [], []
    for _ in range(rounds):
        with chromium.context() as context:
            page = context.new_page()
            page.goto("/jobs", wait_until="commit")
            cold.append(page.evaluate(f"watch.until(() => {_ROWS})"))
        with chromium.context() as context:
            page = context.new_page()
            page.goto("/nodes")
            page.wait_for_selector("nav a[href='/jobs']")
            page.wait_for_timeout(1000)
            clicked.append(page.evaluate(_CLICK))
    scrolled = _scroll(chromium, seconds)
    good = statistics.median(clicked) < WANTED_MS and scrolled["frames"] >= WANTED_FRAMES
    painted = {"cold_ms": common.spread(cold), "clicked_ms": common.spread(clicked)}
    return {"jobs": jobs, "rounds": rounds, **painted, **scrolled, "good": good}


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
        f"{found['jobs']:,} jobs, opened {found['rounds']} times with nothing cached, and as often by a click on another page; "
        f"then scrolled by {_NOTCH_PX * _NOTCHES_PER_S:,} px/s. Wanted: rows in less than {WANTED_MS:.0f} ms after the click, "
        f"and {WANTED_FRAMES:.0f} frames/s."
    )
    header = ("rows, nothing cached, ms", "after a click, ms", "frames/s while scrolled", "longest between two, ms", "renderer", "")
    row = (
        common.said(found["cold_ms"], 0),
        common.said(found["clicked_ms"], 0),
        f"{found['frames']:.0f}",
        f"{found['longest_ms']:.0f}",
        f"{found['renderer']:.0%}",
        "" if found["good"] else "SLOW",
    )
    return ["## The list of jobs", "", said, "", *common.table(header, [row])]

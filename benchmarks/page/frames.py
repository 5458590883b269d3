"""Fifty charts that change four times a second: frames per second, and what they cost the browser.

Three ways. In a window as people have it, the charts out of sight are neither asked for nor drawn. The same window on a page that
believes that all of it can be seen is the naive way. And a window as tall as the page has all charts in sight.

CPU seconds come first and frames afterwards, since counting them has the browser make all that it can. The spared work of the first
way against the second is the ratio to look at; what the third takes depends on painting without a GPU."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Page

from benchmarks import common
from benchmarks.page.browser import SIZE, Chromium, settled, spent
from benchmarks.page.stage import METRICS, Stage

WANTED_FRAMES, WANTED_SHARE = 30.0, 0.4
_TALL = (SIZE[0], 13_000)
_WAYS: tuple[tuple[str, tuple[int, int], bool], ...] = (
    ("a window of 1440 x 900", SIZE, False),
    ("the same, charts out of sight drawn too", SIZE, True),
    ("a window that shows all fifty", _TALL, False),
)


def measure(stage: Stage, chromium: Chromium, seconds: float) -> dict[str, Any]:
    with stage.reporting():
        rows = [_way(stage, chromium, *way, seconds) for way in _WAYS]
    wanted = {"frames": WANTED_FRAMES, "share": WANTED_SHARE}
    return {"charts": METRICS, "seconds": seconds, "wanted": wanted, "rows": rows, "good": all(row["good"] for row in rows)}


def _way(stage: Stage, chromium: Chromium, name: str, size: tuple[int, int], all_in_sight: bool, seconds: float) -> dict[str, Any]:
    with metrics_page(stage, chromium, size, all_in_sight=all_in_sight) as page:
        drawn = page.locator("[role=img] canvas").count()
        began, before = time.monotonic(), spent(chromium)
        page.wait_for_timeout(1000 * seconds)
        used, lasted = spent(chromium) - before, time.monotonic() - began
        page.evaluate("watch.count()")  # afterwards: who counts frames has the page make sixty per second
        began = time.monotonic()
        page.wait_for_timeout(1000 * seconds)
        frames, longest = page.evaluate("[watch.frames, watch.longest]")
        counted = time.monotonic() - began
    share, rate = used.renderer / lasted, frames / counted
    return {
        "way": name,
        "drawn": drawn,
        "frames": rate,
        "longest_ms": longest,
        "renderer": share,
        "main": used.main / lasted,
        "compositor": used.compositor / lasted,
        "good": rate >= WANTED_FRAMES and share < WANTED_SHARE,
    }


@contextmanager
def metrics_page(stage: Stage, chromium: Chromium, size: tuple[int, int], *, all_in_sight: bool = False) -> Iterator[Page]:
    with chromium.context(size, all_in_sight=all_in_sight) as context:
        page = context.new_page()
        page.goto(f"/jobs/{stage.job_id}/metrics")
        settled(page, charts=METRICS if all_in_sight or size == _TALL else 3)  # part a leaves a chart that has a row of its own
        yield page


def markdown(found: dict[str, Any]) -> list[str]:
    rows = [
        (
            row["way"],
            str(row["drawn"]),
            f"{row['frames']:.0f}",
            f"{row['longest_ms']:.0f}",
            f"{row['renderer']:.0%}",
            f"{row['main']:.0%}",
            f"{row['compositor']:.0%}",
            "" if row["good"] else "SLOW",
        )
        for row in found["rows"]
    ]
    header = ("charts", "drawn", "frames/s", "longest between two, ms", "renderer", "of it scripts and layout", "compositor", "")
    said = (
        f"{found['charts']} charts of eight lines, four times a second: CPU for {found['seconds']:.0f} s, in shares of one core, "
        "then frames for as long. "
        f"Wanted: {found['wanted']['frames']:.0f} frames/s, and less than {found['wanted']['share']:.0%} for the renderer, which "
        "paints too: there is no GPU."
    )
    return ["## Live charts", "", said, "", *common.table(header, rows)]

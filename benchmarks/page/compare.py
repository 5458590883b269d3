"""Compare with fifty runs and six metrics, and the queue with two thousand jobs: until the first lines and rows are painted, and
how long the page takes to follow a user."""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import Any
from uuid import UUID

from playwright.sync_api import Page, Request

from backend.jobs import repository as job_rows
from backend.metrics import service as metrics
from benchmarks import common
from benchmarks.page.browser import Chromium
from benchmarks.page.stage import Stage, value
from benchmarks.rows import insert_jobs
from gradstream.api.statuses import JobStatus
from gradstream.metrics import Point

RUNS, METRICS, STEPS = 50, 6, 400
WANTED_CURVES_S, WANTED_ROW_S, WANTED_MS = 2.0, 1.0, 100.0
"""Until something is drawn; and the longest task, and the longest way from an event to the frame that follows it."""
_NAMES = ("train/loss", *(f"model/layer_{number}" for number in range(METRICS - 1)))
_LINES = "[...document.querySelectorAll('canvas')].some(watch.coloured)"
_ROWS = "document.querySelectorAll('[role=row][data-index]').length > 5"
_SLOWEST = """() => {
  window.slowest = { task: 0, event: 0, requests: 0 }
  const note = (kind) => (list) => list.getEntries().forEach(({ duration }) => (slowest[kind] = Math.max(slowest[kind], duration)))
  new PerformanceObserver(note("task")).observe({ type: "longtask" })
  new PerformanceObserver(note("event")).observe({ type: "event", durationThreshold: 16 })
}"""


def measure(stage: Stage, chromium: Chromium, rounds: int) -> dict[str, Any]:
    path = _compared(insert_runs(stage))
    drawn, slow, requests = [], [], []
    for _ in range(rounds):
        with chromium.context() as context:
            page = context.new_page()
            asked: list[str] = []
            page.on("request", partial(_note, asked))
            page.goto(path, wait_until="commit")
            drawn.append(page.evaluate(f"watch.until(() => {_LINES})") / 1000)
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(500)
            requests.append(len(asked))
            slow.append(_follow(page))
    events, tasks = [each["event"] for each in slow], [each["task"] for each in slow]
    good = statistics.median(drawn) <= WANTED_CURVES_S and statistics.median(events) <= WANTED_MS
    seen = {"drawn_s": common.spread(drawn), "event_ms": common.spread(events), "task_ms": common.spread(tasks)}
    return {"rounds": rounds, **seen, "requests": statistics.median(requests), "good": good}


def _note(asked: list[str], request: Request) -> None:
    if "/api/" in request.url:
        asked.append(request.url)


def insert_runs(stage: Stage) -> list[UUID]:
    """Jobs that have ended, with the points of one worker."""
    with stage.at.platform.database.transaction() as session:
        ids = insert_jobs(session, RUNS, seed=1)
    began = time.time() - STEPS
    for run, job_id in enumerate(ids):
        with stage.at.platform.database.transaction() as session:
            job = job_rows.lock(session, job_id)
            assert job is not None
            points = [
                Point(name, 0, step, 64 * step, step, began + step, value(place, run % 8, step))
                for step in range(STEPS)
                for place, name in enumerate(_NAMES)
            ]
            metrics.store(session, job, 1, [("worker-0.0", 0, points)])
    return ids


def _compared(ids: list[UUID]) -> str:
    curves = ",".join(f"curve.{number}:{name}" for number, name in enumerate(_NAMES[1:], 1))
    return f"/compare?jobs={','.join(map(str, ids))}&metric={_NAMES[0]}&panels=curves,{curves}"


def _follow(page: Page) -> dict[str, float]:
    """Point at runs, hide and show one, and set the smoothing."""
    page.evaluate(_SLOWEST)
    switches = page.locator("tbody tr button[aria-pressed]")
    for number in (1, 2, 3):
        switches.nth(number).hover()
        page.wait_for_timeout(200)
    for _ in range(2):
        switches.nth(2).click()
        page.wait_for_timeout(500)
    page.mouse.move(900, 500)
    for _ in range(10):
        page.mouse.wheel(0, 300)
        page.wait_for_timeout(100)
    page.wait_for_timeout(1000)
    found: dict[str, float] = page.evaluate("slowest")
    return found


def markdown(found: dict[str, Any]) -> list[str]:
    said = (
        f"{RUNS} runs, {METRICS} metrics of each in a panel of its own, nothing cached, {found['rounds']} times. Wanted: lines in "
        f"{WANTED_CURVES_S:.0f} s, and {WANTED_MS:.0f} ms from an event to its frame."
    )
    header = ("first lines, s", "slowest event, ms", "longest task, ms", "requests", "")
    row = (
        common.said(found["drawn_s"]),
        common.said(found["event_ms"], 0),
        common.said(found["task_ms"], 0),
        f"{found['requests']:.0f}",
        "" if found["good"] else "SLOW",
    )
    return ["## Compare", "", said, "", *common.table(header, [row])]


def measure_queue(stage: Stage, chromium: Chromium, jobs: int, rounds: int) -> dict[str, Any]:
    with stage.at.platform.database.transaction() as session:
        insert_jobs(session, jobs, statuses=(JobStatus.QUEUED,), seed=2)
    shown, tasks = [], []
    for _ in range(rounds):
        with chromium.context() as context:
            context.add_init_script(f"({_SLOWEST})()")
            page = context.new_page()
            page.goto("/queue", wait_until="commit")
            shown.append(page.evaluate(f"watch.until(() => {_ROWS})") / 1000)
            page.evaluate("slowest.task = 0")
            page.mouse.move(700, 500)
            for _ in range(20):
                page.mouse.wheel(0, 600)
                page.wait_for_timeout(100)
            page.wait_for_timeout(3000)
            tasks.append(page.evaluate("slowest.task"))
    good = statistics.median(shown) <= WANTED_ROW_S and statistics.median(tasks) <= WANTED_MS
    return {"jobs": jobs, "rounds": rounds, "row_s": common.spread(shown), "task_ms": common.spread(tasks), "good": good}


def queue_markdown(found: dict[str, Any]) -> list[str]:
    said = (
        f"{found['jobs']:,} jobs wait; opened {found['rounds']} times with nothing cached, then scrolled. Wanted: a row in "
        f"{WANTED_ROW_S:.0f} s, no task of more than {WANTED_MS:.0f} ms after it."
    )
    row = (common.said(found["row_s"]), common.said(found["task_ms"], 0), "" if found["good"] else "SLOW")
    return ["## The queue", "", said, "", *common.table(("first rows, s", "longest task, ms", ""), [row])]

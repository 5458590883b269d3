"""From a worker's `report` to the pixel.

A reporter of its own, as each worker has one, reports one value of a metric that nothing else reports, while all workers report
theirs. Its chart stands on top of the page. The page reads that canvas in each frame: the value is drawn in the first frame after
its message came in which the canvas looks different. Then, after a moment of random length, so that no tick of the way is in step
with it, the next value is reported. All clocks are those of one machine."""

from __future__ import annotations

import random
import time
from typing import Any

from benchmarks import common
from benchmarks.page.browser import Chromium, settled
from benchmarks.page.stage import BATCH, PULSE, Stage
from gradstream.wire.telemetry.reporter import Reporter

WANTED_MS = 1000.0
_CANVAS = '[role=img][aria-label^="Eval pulse"] canvas'


def measure(stage: Stage, chromium: Chromium, events: int) -> dict[str, Any]:
    drawn = random.Random(1)
    reporter = Reporter(stage.access, stage.j, "evaluator.0")
    try:
        with stage.reporting(), chromium.context() as context:
            page = context.new_page()
            _report(reporter, 0, drawn.random())
            page.goto(f"/jobs/{stage.job_id}/metrics?pin={PULSE}")
            page.wait_for_selector(_CANVAS)
            settled(page, charts=3)
            told, whole = [], []
            for number in range(1, events + 1):
                time.sleep(drawn.uniform(0.05, 0.5))
                sent = _report(reporter, number, drawn.random())
                found = page.evaluate("([canvas, sent]) => watch.pulse(canvas, sent)", [_CANVAS, int(1000 * sent)])
                told.append(found["heard"] - 1000 * sent)
                whole.append(found["drawn"] - 1000 * sent)
    finally:
        reporter.close()
    percentiles = {name: _percentiles(values) for name, values in (("told", told), ("drawn", whole))}
    return {"events": events, "ms": percentiles, "wanted_ms": WANTED_MS, "good": percentiles["drawn"]["p95"] < WANTED_MS}


def _report(reporter: Reporter, number: int, value: float) -> float:
    now = time.time()
    reporter.point(PULSE, value, step=number, samples=BATCH * number, version=number)
    return now


def _percentiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    at = {name: ordered[min(len(ordered) - 1, int(part * len(ordered)))] for name, part in (("p50", 0.5), ("p95", 0.95))}
    return {**at, "most": ordered[-1]}


def markdown(found: dict[str, Any]) -> list[str]:
    names = {"told": "the page has the message", "drawn": "it is drawn"}
    rows = [(names[part], *(f"{ms[of]:,.0f}" for of in ("p50", "p95", "most"))) for part, ms in found["ms"].items()]
    wanted = f"drawn in less than {found['wanted_ms']:.0f} ms (p95)"
    said = f"{found['events']} values, reported while all workers report; wanted: {wanted}."
    return ["## From a worker to the screen", "", said, "", *common.table(("until", "p50, ms", "p95, ms", "most, ms"), rows)]

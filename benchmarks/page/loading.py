"""Opening the page of a job, cold: times until something is painted, and the scripts that travel for it."""

from __future__ import annotations

import statistics
from typing import Any

from playwright.sync_api import BrowserContext

from benchmarks import common
from benchmarks.page.browser import Chromium
from benchmarks.page.stage import Stage

WANTED_S, WANTED_KB = 1.5, 350.0
LARGEST = 8
_FCP = """() => new Promise((resolve) => new PerformanceObserver((list) => {
  const found = list.getEntriesByName("first-contentful-paint")[0]
  if (found) resolve(found.startTime)
}).observe({ type: "paint", buffered: true }))"""


def measure_paint(stage: Stage, chromium: Chromium, rounds: int) -> dict[str, Any]:
    """Each round in a context of its own, so nothing is cached. Workers report meanwhile."""
    first, charted = [], []
    with stage.reporting():
        for _ in range(rounds):
            with chromium.context() as context:
                page = context.new_page()
                page.goto(f"/jobs/{stage.job_id}/metrics", wait_until="commit")
                charted.append(page.evaluate("name => watch.until(() => watch.charted(name))", stage.name) / 1000)
                first.append(page.evaluate(_FCP) / 1000)
    return {
        "rounds": rounds,
        "first_s": _middle(first),
        "charted_s": _middle(charted),
        "wanted_s": WANTED_S,
        "good": statistics.median(charted) < WANTED_S,
    }


def _middle(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def measure_scripts(stage: Stage, chromium: Chromium) -> dict[str, Any]:
    """Bytes of scripts, as they travel, of the page of a job and of its charts."""
    rows: list[dict[str, Any]] = []
    for name, path in (("page of a job", f"/jobs/{stage.job_id}"), ("its charts", f"/jobs/{stage.job_id}/metrics")):
        with chromium.context() as context:
            found = _scripts(context, path)
        largest = sorted(found.items(), key=lambda item: -item[1])[:LARGEST]
        rows.append(
            {
                "page": name,
                "kb": sum(found.values()) / 1000,
                "files": len(found),
                "largest": {name: size / 1000 for name, size in largest},
            }
        )
    return {"wanted_kb": WANTED_KB, "rows": rows, "good": all(row["kb"] < WANTED_KB for row in rows)}


def _scripts(context: BrowserContext, path: str) -> dict[str, float]:
    """Bytes by name of file, with the heads of the answers."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    names: dict[str, str] = {}
    sizes: dict[str, float] = {}

    def received(event: dict[str, Any]) -> None:
        if event["response"]["url"].split("?")[0].endswith(".js"):
            names[event["requestId"]] = event["response"]["url"].rsplit("/", 1)[-1]

    def loaded(event: dict[str, Any]) -> None:
        if event["requestId"] in names:
            sizes[names[event["requestId"]]] = event["encodedDataLength"]

    session.on("Network.responseReceived", received)
    session.on("Network.loadingFinished", loaded)
    session.send("Network.enable")
    page.goto(path)
    page.wait_for_selector("h1")
    page.wait_for_timeout(1500)
    return sizes


def paint_markdown(found: dict[str, Any]) -> list[str]:
    said = (
        f"Nothing cached, {found['rounds']} times, workers reporting; wanted: name and first line in less than "
        f"{found['wanted_s']:.1f} s."
    )
    rows = [
        ("anything", common.said(found["first_s"]), ""),
        ("the job's name and the first line", common.said(found["charted_s"]), "" if found["good"] else "SLOW"),
    ]
    return ["## Opening the charts of a job", "", said, "", *common.table(("painted", "s (least-most)", ""), rows)]


def scripts_markdown(found: dict[str, Any]) -> list[str]:
    rows = [
        (row["page"], f"{row['kb']:.0f}", str(row["files"]), ", ".join(f"{name} {kb:.0f}" for name, kb in row["largest"].items()))
        for row in found["rows"]
    ]
    said = f"Compressed, as they travel; wanted: less than {found['wanted_kb']:.0f} kB."
    return ["## Scripts", "", said, "", *common.table(("page", "kB", "files", "the largest, kB"), rows)]

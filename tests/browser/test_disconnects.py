"""All kinds of pages of one running job while the API, the live Redis or the browser's network is cut, and afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil
import pytest
from playwright.sync_api import Locator, Page, expect

from gradstream.client import Client, Job
from gradstream.local.platform import LocalPlatform
from tests.browser.support import OpenPage, submit_slow
from tests.platforms import Lab
from tests.support import eventually

TABS = ("overview", "metrics", "staleness", "workers", "logs")
TIMEOUT = 90.0
"""Seconds. Six pages at once are much for a small machine."""
TIMEOUT_MS = 90_000
SLICES = 40
"""Rows of a line in the numbers beside a chart, if each slice has a point: `frontend/src/charts/line/ChartTable.tsx`."""

pytestmark = pytest.mark.timeout(600)


class Pages:
    """One job, seen from five of its tabs and from the list."""

    def __init__(self, open_page: OpenPage, client: Client, job: Job) -> None:
        paths = {**{tab: f"/jobs/{job.id}/{tab}" for tab in TABS}, "list": f"/jobs?q={job.name}"}
        self.client, self.job = client, job
        self.all = {name: open_page(path, watched=False, timeout_ms=TIMEOUT_MS) for name, path in paths.items()}

    def __getitem__(self, name: str) -> Page:
        return self.all[name]

    def expect(self, connection: str) -> None:
        """They say so of their connection, and show what they know: neither nothing nor an error in its place."""
        for name, page in self.all.items():
            said = page.locator("[data-connection]")
            expect(said, name).to_have_attribute("data-connection", connection, timeout=TIMEOUT_MS)
            expect(self._content(name), name).to_be_visible(timeout=TIMEOUT_MS)

    def expect_status(self, status: str) -> None:
        for name, page in self.all.items():
            shown = self._content(name) if name == "list" else page.locator("[data-status]").first
            expect(shown, name).to_have_attribute("data-status", status, timeout=TIMEOUT_MS)

    def drawn(self) -> dict[int, int]:
        """Points of each worker in the chart of the loss."""
        told = self._content("metrics").get_attribute("aria-label") or ""
        return {int(rank): int(count) for rank, count in re.findall(r"worker (\d+), (\d+) points", told)}

    def stored(self) -> dict[int, int]:
        [loss] = self.client.charts(self.job.id, ["train/loss"])
        return {series.rank: series.total for series in loss.series}

    def shows_all_that_is_written(self) -> bool:
        """A page that opens late, on a slow machine, begins with the last portion of several: the others are scrolled to."""
        logs = self["logs"]
        if logs.get_by_text("scroll up for older ones").count():
            logs.get_by_role("log").press("Home")
        written = sum(chunk.text.count("\n") for chunk in self.client.logs(self.job.id))
        return logs.get_by_text(f"{written:,} lines", exact=True).count() > 0

    def _content(self, name: str) -> Locator:
        page = self.all[name]
        match name:
            case "overview":
                return page.get_by_role("list", name="Timeline").get_by_text("Training", exact=True)
            case "metrics":
                return page.get_by_role("img", name=re.compile("^Training loss: worker 0, "))
            case "staleness":
                return page.get_by_role("img", name=re.compile("^Staleness.*worker")).first
            case "workers":
                return page.get_by_role("row", name=re.compile("worker-1 ")).first
            case "logs":
                return page.get_by_role("log").get_by_text("one more step").first
            case _:
                return page.get_by_role("row").filter(has=page.locator(f"a[href*='{self.job.id}']"))


@pytest.mark.more
def test_six_pages_come_back_from_every_disconnect_without_a_gap(
    open_page: OpenPage, client: Client, platform: LocalPlatform
) -> None:
    lab = Lab(platform, client)
    job = submit_slow(client, name="cut-off", steps=100_000, pause=0.2)
    eventually(lambda: client.job(job.id).progress.version > 10, "it trains", TIMEOUT)
    pages = Pages(open_page, client, job)
    pages.expect("live")

    with _without(lab, "backend", "api"):
        pages.expect("reconnecting")
        pages["overview"].get_by_role("tab", name="Config").click()  # a part of the page that has not been loaded
        _expect_late(pages["metrics"])
        expect(pages["logs"].get_by_text("lines; newer ones follow when the server answers again")).to_be_visible()
        pages["workers"].get_by_role("tab", name="Logs").click()  # what it shows has not been read
        expect(pages["workers"].get_by_role("heading", name="Logs")).to_be_visible()
        expect(pages["workers"].get_by_text(re.compile(r"^[\d,]+ lines"))).to_have_count(0)
    pages["workers"].get_by_text(re.compile(r"^[\d,]+ lines")).wait_for()
    pages["workers"].get_by_role("tab", name="Workers").click()
    pages["overview"].get_by_text("slow:Slow").first.wait_for()
    pages["overview"].get_by_role("tab", name="Overview").click()
    pages.expect("live")

    with _without(lab, "valkey-server", "redis-live"):
        before = pages.drawn()
        eventually(lambda: min(_grown(pages.drawn(), before)) > 10, "points without wake-ups", TIMEOUT)
        pages.expect("live")

    with _offline(pages):
        pages.expect("reconnecting")
        _expect_late(pages["metrics"])
    pages.expect("live")

    # Compared while nothing new comes: after the end the page would ask for all of it anew.
    with ExitStack() as stack:
        for pid in [*lab.pids("worker-0"), *lab.pids("worker-1")]:
            stack.enter_context(lab.frozen(psutil.Process(pid), 0))
        eventually(lambda: pages.drawn() == pages.stored(), "the chart to have each stored point once", TIMEOUT)
        eventually(pages.shows_all_that_is_written, "the page of logs to have each line once", TIMEOUT)
        pages["metrics"].get_by_role("button", name="Table of Training loss").press("Enter")
        rows = pages["metrics"].get_by_role("region", name="Training loss in numbers").get_by_role("row")
        expect(rows.filter(has_text="worker 0"), "each slice of the chart has points, also those of the disconnects").to_have_count(
            SLICES
        )

    client.stop(job.id)
    pages.expect_status("cancelled")


@contextmanager
def _without(lab: Lab, *words: str) -> Iterator[None]:
    """Killed with all that it held, and what is started in its place is frozen: the API before it opens its port, Redis when it
    accepts connections, or before."""
    killed = lab.program(*words)
    killed.kill()
    following = eventually(lambda: found if (found := lab.program(*words)) != killed else None, f"the next program with {words}")
    assert following
    with lab.frozen(following, 0):
        yield


@contextmanager
def _offline(pages: Pages) -> Iterator[None]:
    for page in pages.all.values():
        page.context.set_offline(True)
    yield
    for page in pages.all.values():
        page.context.set_offline(False)


def _expect_late(page: Page) -> None:
    """The chart says how old it is, which it does only after longer than a question is asked again."""
    expect(page.get_by_text(re.compile("^reconnecting, last point")).first).to_be_visible(timeout=TIMEOUT_MS)


def _grown(now: dict[int, int], before: dict[int, int]) -> list[int]:
    return [now.get(rank, 0) - count for rank, count in before.items()]

"""More tabs of one browser than it opens connections to a server: six, over HTTP/1.1."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from gradstream.client import Client, Job
from tests.browser.support import OpenPage, pick_action, submit_slow
from tests.support import eventually

TABS = 8
SECONDS = 1.0
"""Seconds of a step: each new point is drawn eight times."""
STREAMS = 4
"""That stay open: `frontend/src/lib/stream/held.ts`."""
HELD = """async () => (await navigator.locks.query()).held.filter(({name}) => /^gradstream\\.stream\\.\\d$/.test(name)).length"""
ASKED = """async () => (await fetch("/api/v1/jobs?limit=1", {signal: AbortSignal.timeout(30_000)})).status"""
LOSS = re.compile("^Training loss: worker 0, ")


@pytest.fixture
def job(client: Client) -> Iterator[Job]:
    job = submit_slow(client, name="tabbed", steps=100_000, pause=SECONDS)
    yield job
    client.stop(job.id)


@pytest.mark.long
def test_eight_tabs_follow_a_job_and_none_keeps_another_from_asking(open_page: OpenPage, client: Client, job: Job) -> None:
    address = f"/jobs/{job.id}/metrics"
    first = open_page(address)
    tabs = [first, *(open_page(address, beside=first) for _ in range(TABS - 1))]
    for tab in tabs:
        expect(tab.get_by_role("img", name=LOSS)).to_be_visible()
        assert tab.evaluate("document.visibilityState") == "visible", "else it would hold no stream, and the test say nothing"
    eventually(lambda: first.evaluate(HELD) == STREAMS, "streams that stay open")

    for _ in range(2):  # those that look in by turns come again
        before = [_drawn(tab) for tab in tabs]
        for tab, count in zip(tabs, before, strict=True):
            eventually(lambda tab=tab, count=count: _drawn(tab) > count, "new points in every tab")
    assert first.evaluate(HELD) == STREAMS

    last = tabs[-1]
    assert [tab.evaluate(ASKED) for tab in tabs] == [200] * TABS
    last.get_by_role("tab", name="Config").click()
    expect(last.get_by_label("Job file", exact=True).locator("visible=true").first).to_contain_text("tabbed")
    pick_action(last, job.name, "Stop")
    last.get_by_role("dialog").get_by_role("button", name="Stop").click()
    for tab in tabs:
        expect(tab.locator("[data-status]").first).to_have_attribute("data-status", "cancelled")
    assert client.job(job.id).status == "cancelled"


def _drawn(tab: Page) -> int:
    """Points in the chart of the loss."""
    told = tab.get_by_role("img", name=LOSS).get_attribute("aria-label") or ""
    return sum(int(count) for count in re.findall(r"worker \d+, (\d+) points", told))

"""Every page, wide and narrow, light and dark: nothing overflows, nothing is hidden from those who cannot see or point."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from gradstream.client import Client, Job
from gradstream.local.platform import LocalPlatform
from tests.browser.support import OpenPage, check_looks, every_look, still_box, submit_slow, wait_until, wait_until_loaded
from tests.support import JOB_TIMEOUT


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    return client.wait(submit_slow(client, name="shown", steps=40).id, timeout=JOB_TIMEOUT)


PAGES = {
    "sign-in": "/sign-in",
    "jobs": "/jobs",
    "new-job": "/jobs/new?example=digits",
    "job": "/jobs/{job}",
    "metrics": "/jobs/{job}/metrics",
    "staleness": "/jobs/{job}/staleness",
    "compare": "/compare?jobs={job}",
    "queue": "/queue",
    "workers": "/jobs/{job}/workers",
    "logs": "/jobs/{job}/logs",
    "events": "/jobs/{job}/events",
    "files": "/jobs/{job}/files",
    "config": "/jobs/{job}/config",
    "guides": "/guides",
    "guide": "/guides/stragglers#cost-and-remedies",
    "nodes": "/nodes",
    "settings": "/settings",
    "nowhere": "/no/such/page",
}


@pytest.mark.few(4)
@every_look
@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, width: int, scheme: str, look_at: OpenPage, job: Job) -> None:
    page = look_at(PAGES[name].format(job=job.id), width=width, scheme=scheme)
    _settled(page)
    check_looks(page, f"{name}-{width}-{scheme}")


@pytest.mark.more
def test_words_of_the_glossary_are_explained_where_they_stand(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}")
    tip = page.get_by_role("tooltip")
    still_box(page.get_by_role("button", name="Ledger"))  # its definition hides while charts above push it out of view
    page.get_by_role("button", name="Ledger").focus()
    expect(tip).to_have_text(re.compile("^Ledger: the count, for each rank, of pushes applied"))
    expect(page.get_by_role("button", name="Ledger")).to_have_attribute("aria-describedby", tip.get_attribute("id") or "")
    page.get_by_role("button", name="asp", exact=True).hover()
    expect(tip.filter(has_text="Gate: the rule when a worker may begin its next round")).to_be_visible()
    page.goto("/jobs")
    page.get_by_role("columnheader", name="Staleness").get_by_role("button").hover()
    expect(tip).to_contain_text("version just before a push is applied")


def test_the_narrow_page_has_its_places_behind_a_button(open_page: OpenPage) -> None:
    page = open_page("/jobs", width=390)
    page.get_by_role("button", name="Menu", exact=True).click()
    page.get_by_role("link", name="Nodes").click()
    expect(page.get_by_role("heading", name="Nodes")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_colours_stay_as_selected(open_page: OpenPage) -> None:
    page = open_page("/settings", scheme="light")
    html = page.locator("html")
    expect(html).to_have_attribute("data-mantine-color-scheme", "light")
    page.get_by_text("Dark", exact=True).click()
    expect(html).to_have_attribute("data-mantine-color-scheme", "dark")
    page.reload()
    expect(html).to_have_attribute("data-mantine-color-scheme", "dark")


def test_what_nobody_needs_is_shown_before_it_is_removed(open_page: OpenPage, platform: LocalPlatform) -> None:
    left = platform.folder.path / "files" / "incoming" / "left-behind"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"x" * 2000)
    os.utime(left, (0, 0))
    page = open_page("/settings", width=390, scheme="dark")
    expect(page.get_by_role("table", name="Storage").get_by_role("row", name="checkpoints")).to_be_visible()
    page.get_by_role("button", name="Remove unused data").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 upload, 2 kB")
    check_looks(page, "storage-390-dark")
    assert left.exists()
    dialog.get_by_role("button", name="Remove unused data").click()
    expect(dialog).to_have_count(0)
    assert not left.exists()


@pytest.mark.more
def test_how_charts_are_drawn_stands_in_the_address(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/metrics")
    over = page.get_by_role("radiogroup", name="X axis")
    over.get_by_text("Epochs", exact=True).click()  # its length is known, though the job ends after steps
    expect(page).to_have_url(re.compile("x=epoch"))
    over.get_by_text("Version", exact=True).click()
    page.get_by_role("button", name="Logarithmic scale for Training loss").click()
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("smooth=0.01"))
    assert parse_qs(urlsplit(page.url).query) == {"x": ["version"], "smooth": ["0.01"], "log": ["train/loss"]}
    page.reload()
    expect(page.get_by_role("button", name="Logarithmic scale for Training loss")).to_have_attribute("aria-pressed", "true")


def _settled(page: Page) -> None:
    wait_until(page, "!document.querySelector('[aria-label=Loading]') && document.querySelector('h1, [role=alert], main a')")
    wait_until_loaded(page)

"""A visit by keyboard alone: a job is opened, watched, stopped and compared, and the focus is never lost or behind something."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from gradstream.client import Client
from tests.browser.support import OpenPage, submit_slow
from tests.support import JOB_TIMEOUT, eventually

LONG = 100_000
MAX_STEPS = 120
"""Presses of Tab until something must have been reached."""
LOST = "() => document.activeElement === document.body"
NAME = "() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText"
BEHIND_THE_HEADER = """() => {
  const [focused, header] = [document.activeElement, document.querySelector("header")]
  return !header.contains(focused) && getComputedStyle(focused).position !== "fixed"
    && focused.getBoundingClientRect().bottom > 0 && focused.getBoundingClientRect().top < header.getBoundingClientRect().bottom
}"""


@pytest.mark.more
def test_a_visit(open_page: OpenPage, client: Client) -> None:
    first = client.wait(submit_slow(client, name="kept-for-comparison", steps=20).id, timeout=JOB_TIMEOUT)
    job = submit_slow(client, name="stopped-by-keys", steps=LONG, pause=0.3)
    page = open_page()
    _choose(page, job.name)
    page.keyboard.press("Enter")
    _arrived(page, job.name)

    _tab_to(page, "Overview")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Metrics")).to_be_focused()
    expect(page.get_by_role("img", name=re.compile(r"^Training loss: worker 0, \d+ points"))).to_be_visible()

    actions = page.get_by_role("button", name=f"Actions for {job.name}")
    _tab_to(page, f"Actions for {job.name}", back=True)
    _pick_last(page, "Stop")
    expect(page.get_by_role("dialog").get_by_role("button", name="Stop")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(actions).to_be_focused()
    _pick_last(page, "Stop")
    expect(page.get_by_role("dialog").get_by_role("button", name="Stop")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[data-status]").first).to_have_attribute("data-status", "cancelled")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(actions).to_be_focused()

    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()
    for name in (job.name, first.name):
        _choose(page, name)
        page.keyboard.press("x")
    expect(page.get_by_text(re.compile(r"^2 of [\d,]+ jobs selected$"))).to_be_visible()
    _tab_to(page, "Compare", within="main")
    page.keyboard.press("Enter")
    _arrived(page, "Compare")
    expect(page.get_by_role("table", name="Compared jobs").get_by_role("link", name=job.name)).to_be_visible()


@pytest.mark.more
def test_shift_tab_brings_nothing_behind_the_header(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    expect(page.get_by_label("Job file as YAML")).to_have_value(re.compile("digits:Digits"))
    expect(page.get_by_test_id("plan")).to_be_visible()
    page.get_by_role("button", name="Submit").focus()
    for _ in range(MAX_STEPS):
        page.keyboard.press("Shift+Tab")
        assert not page.evaluate(BEHIND_THE_HEADER), f"{page.evaluate(NAME)} has the focus behind the header"
        if page.evaluate("() => document.querySelector('header').contains(document.activeElement)"):
            return
    raise AssertionError(f"Shift+Tab has not come to the header in {MAX_STEPS} steps")


def _choose(page: Page, name: str) -> None:
    """Go down from row to row until it is the one of that name."""
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))
    expect(row).to_be_visible()
    for _ in range(MAX_STEPS):
        if row.get_attribute("data-active") is not None:
            return
        page.keyboard.press("j")
    raise AssertionError(f"j has not come to {name} in {MAX_STEPS} steps")


def _pick_last(page: Page, item: str) -> None:
    """Open the menu that has the focus, and pick its last item."""
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("End")
    expect(page.get_by_role("menuitem", name=item)).to_be_focused()
    page.keyboard.press("Enter")


def _arrived(page: Page, heading: str) -> None:
    expect(page.get_by_role("heading", name=heading, level=1, exact=True)).to_be_visible()
    eventually(lambda: not page.evaluate(LOST), "the focus on the new page")


def _tab_to(page: Page, name: str, *, back: bool = False, within: str = "body") -> None:
    for _ in range(MAX_STEPS):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        inside = page.evaluate("within => document.activeElement.closest(within) !== null", within)
        if inside and str(page.evaluate(NAME)).strip() == name:
            return
    raise AssertionError(f"Tab has not come to {name} in {MAX_STEPS} steps")

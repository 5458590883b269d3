"""A page that is open while the server is upgraded: the files of its parts have other names afterwards."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Request, Route, expect

from tests.browser.support import OpenPage
from tests.browser.test_new_job import YAML

PART = "**/assets/QueuePage-*.js"


def test_an_upgrade_costs_one_reload_and_nothing_that_was_typed(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits", watched=False)
    size = page.get_by_label("Batch size")
    size.fill("48")
    expect(page.get_by_label(YAML)).to_have_value(re.compile("batch_size: 48"))
    opened: list[str] = []
    page.on("request", lambda request: _note(request, opened))
    page.route(PART, lambda route: route.fulfill(status=404))
    page.route(re.compile(r"^https?://[^/]+/$"), _newer)

    page.get_by_role("link", name="Queue", exact=True).first.click()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    assert [address.rsplit("/", 1)[1] for address in opened] == ["queue"], "it opened the new page once, and no more"

    page.unroute(PART)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Queue", level=1)).to_be_visible()
    page.goto("/jobs/new?example=digits")
    expect(page.get_by_label(YAML)).to_have_value(re.compile("batch_size: 48"))


def test_a_part_that_cannot_be_loaded_comes_by_itself_when_the_network_does(open_page: OpenPage) -> None:
    page: Page = open_page("/nodes", watched=False)
    expect(page.get_by_role("heading", name="Nodes", level=1)).to_be_visible()
    page.context.set_offline(True)
    with page.expect_event("requestfailed", lambda request: "QueuePage" in request.url):
        page.get_by_role("link", name="Queue", exact=True).first.click()
    expect(page.get_by_role("heading", name="Nodes", level=1)).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_role("heading", name="Queue", level=1)).to_be_visible(timeout=30_000)


def _newer(route: Route) -> None:
    """The page of the next version, whose script has another name."""
    route.fulfill(content_type="text/html", body=route.fetch().text().replace("/assets/index-", "/assets/index-newer-"))


def _note(request: Request, opened: list[str]) -> None:
    if request.resource_type == "document":
        opened.append(request.url)

"""A page that is open while the server is upgraded: the files of its parts have other names afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Request, Route, expect

from gradstream.hostnames import program_url
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


def test_a_part_of_the_page_comes_by_itself_when_the_server_does(open_page: OpenPage) -> None:
    page: Page = open_page("/nodes", watched=False)
    expect(page.get_by_role("heading", name="Nodes", level=1)).to_be_visible()
    network = _Network(page)
    network.serves = lambda url: False
    with page.expect_event("requestfailed", lambda _: len(network.refused) > 2):
        page.get_by_role("link", name="Queue", exact=True).first.click()
    expect(page.get_by_role("heading", name="Nodes", level=1)).to_be_visible()
    network.serves = lambda url: True
    expect(page.get_by_role("heading", name="Queue", level=1)).to_be_visible()
    assert not network.failed, "a module that failed would be remembered, so the page may import none while the server is away"


@pytest.mark.more
def test_a_part_that_the_browser_does_not_fetch_again_comes_with_the_page_opened_anew(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits", watched=False)
    page.get_by_label("Batch size").fill("48")
    expect(page.get_by_label(YAML)).to_have_value(re.compile("batch_size: 48"))
    network = _Network(page)
    network.serves = lambda url: url.endswith("/")  # the server goes away just after the page has seen it
    with page.expect_event("requestfailed", lambda _: bool(network.failed)):
        page.get_by_role("link", name="Queue", exact=True).first.click()
    network.serves = lambda url: True
    expect(page.get_by_role("heading", name="Queue", level=1)).to_be_visible()
    assert [address.rsplit("/", 1)[1] for address in network.opened] == ["queue"], "it opened the next page, once"
    page.go_back()
    expect(page.get_by_label(YAML)).to_have_value(re.compile("batch_size: 48"))


class _Network:
    """What the page asks of the server is answered as long as `serves` says so of its address. A module that failed once fails for
    as long as the document lives, as some browsers have it."""

    def __init__(self, page: Page) -> None:
        self.serves: Callable[[str], bool] = lambda url: True
        self.refused: list[str] = []
        self.failed: set[str] = set()
        """Modules, in this document."""
        self.opened: list[str] = []
        page.route(re.compile(r"/assets/QueuePage-|://[^/]+/$"), self._answer)
        page.on("request", self._document)

    def _answer(self, route: Route) -> None:
        url = route.request.url
        if self.serves(url) and url not in self.failed:
            return route.continue_()
        self.refused.append(url)
        if not url.endswith("/"):
            self.failed.add(url)
        route.abort()

    def _document(self, request: Request) -> None:
        if request.resource_type == "document":
            self.opened.append(request.url)
            self.failed.clear()


def _newer(route: Route) -> None:
    """The page of the next version, whose script has another name."""
    document = route.fetch(url=program_url(route.request.url)).text()
    route.fulfill(content_type="text/html", body=document.replace("/assets/index-", "/assets/index-newer-"))


def _note(request: Request, opened: list[str]) -> None:
    if request.resource_type == "document":
        opened.append(request.url)

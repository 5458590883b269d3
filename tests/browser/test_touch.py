"""Charts under fingers: sideways moves the range, two look closer, up and down scrolls the page, a tap reads a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, CDPSession, Locator, Page, Playwright, expect

from gradstream.client import Client, Job
from tests.browser.conftest import launch, program
from tests.browser.support import OpenPage, rested, still_box, submit_slow, wait_until
from tests.support import JOB_TIMEOUT

Point = tuple[float, float]


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """One that could have windows: the headless shell makes no mouse events of a tap."""
    browser = launch(playwright, program("chromium", "chromium-browser", "google-chrome"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    return client.wait(submit_slow(client, name="touched", steps=40).id, timeout=JOB_TIMEOUT)


class Fingers:
    """On a screen; places are shares of an element's size."""

    def __init__(self, page: Page, on: Locator) -> None:
        self.page = page
        self.cdp: CDPSession = page.context.new_cdp_session(page)
        self.box = still_box(on)

    def drag(self, *paths: tuple[Point, Point], steps: int = 8) -> None:
        """Every finger goes along its own path, all at once."""
        self._send("touchStart", [begin for begin, _ in paths])
        for step in range(1, steps + 1):
            self._send("touchMove", [_between(begin, end, step / steps) for begin, end in paths])
        self._send("touchEnd", [])

    def tap(self, at: Point) -> None:
        self._send("touchStart", [at])
        self._send("touchEnd", [])

    def _send(self, kind: str, points: list[Point]) -> None:
        touches = [
            {"x": self.box["x"] + x * self.box["width"], "y": self.box["y"] + y * self.box["height"], "id": finger}
            for finger, (x, y) in enumerate(points)
        ]
        self.cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})


@pytest.fixture
def chart(open_page: OpenPage, job: Job) -> Locator:
    page = open_page(f"/jobs/{job.id}/metrics?x=step", width=390, touch=True)
    return page.get_by_role("img", name=re.compile("^Training loss: worker 0, 40 points"))


@pytest.mark.more
def test_one_finger_moves_the_range_and_two_look_closer(chart: Locator) -> None:
    page = chart.page
    fingers = Fingers(page, chart)
    fingers.drag(((0.4, 0.5), (0.3, 0.5)), ((0.6, 0.5), (0.8, 0.5)))
    rested(page)
    first = _range(page)
    assert 10 < first[1] - first[0] < 22, "fingers that are 2.5 times as far apart see 0.4 of the steps"
    fingers.drag(((0.7, 0.5), (0.4, 0.5)))
    rested(page)
    second = _range(page)
    assert second[0] > first[0] + 2
    assert second[1] - second[0] == pytest.approx(first[1] - first[0], rel=0.01)


@pytest.mark.more
def test_up_and_down_scrolls_the_page_and_moves_no_range(chart: Locator) -> None:
    page = chart.page
    fingers = Fingers(page, chart)
    before = page.evaluate("scrollY")
    fingers.drag(((0.5, 0.8), (0.52, -0.4)), steps=20)
    wait_until(page, "before => scrollY > before + 60", before)
    rested(page)
    assert "range" not in parse_qs(urlsplit(page.url).query)


@pytest.mark.more
def test_a_tap_reads_the_value_under_it(chart: Locator) -> None:
    page = chart.page
    card = page.get_by_role("region", name="Training loss", exact=True)
    expect(card.get_by_text("latest", exact=True)).to_be_visible()
    Fingers(page, chart).tap((0.5, 0.5))
    expect(card.get_by_text(re.compile(r"^mean at \d+"))).to_be_visible()
    expect(page.get_by_role("tooltip")).to_contain_text(re.compile("^Steps .*worker 0"))
    assert "range" not in parse_qs(urlsplit(page.url).query)


def _between(begin: Point, end: Point, share: float) -> Point:
    return begin[0] + (end[0] - begin[0]) * share, begin[1] + (end[1] - begin[1]) * share


def _range(page: Page) -> tuple[float, float]:
    left, right = parse_qs(urlsplit(page.url).query)["range"][0].split("~")
    return float(left), float(right)

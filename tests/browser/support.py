"""What the tests of the page share: where things lie, and jobs for it to show."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import FloatRect, Locator, Page

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.support import eventually

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORKLOAD = HERE / "workload"
SCREENSHOTS = os.environ.get("GRADSTREAM_SCREENSHOTS")
"""A folder to keep a picture of every page looked at in; for people, no test reads them."""

AXE = (ROOT / "frontend/node_modules/axe-core/axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

every_look = pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1440, "light"),
        (390, "dark"),
        pytest.param(1440, "dark", marks=pytest.mark.long),
        pytest.param(390, "light", marks=pytest.mark.long),
    ],
)
"""Widths and colours do not depend on each other: the first two see both of each."""

OpenPage = Callable[..., Page]
"""The fixture `open_page`."""


def still_box(shown: Locator) -> FloatRect:
    """Where it is, once nothing moves it any more: what is loaded above it does."""
    shown.scroll_into_view_if_needed()
    page, boxes = shown.page, [shown.bounding_box()]

    def still() -> bool:
        page.wait_for_timeout(100)
        boxes.append(shown.bounding_box())
        return boxes[-1] == boxes[-2] and not page.get_by_label("Loading").count()

    eventually(still, "a page that stands still")
    box = boxes[-1]
    assert box
    return box


def rested(page: Page) -> None:
    """A range comes into the address when it has rested for a moment: after that moment, by the page's own clock."""
    page.evaluate("() => new Promise((then) => setTimeout(() => requestAnimationFrame(() => setTimeout(then)), 500))")


def wait_until(page: Page, holds: str, arg: object = None) -> None:
    """Wait for a condition in JavaScript. Playwright's `wait_for_function` calls `eval` in the page, whose policy forbids it."""
    eventually(lambda: page.evaluate(holds, arg), holds)


def wait_until_loaded(page: Page) -> None:
    wait_until(page, "!document.querySelector('[aria-label=Loading]') && document.fonts.status === 'loaded'")


def pick_action(page: Page, job: str, action: str) -> None:
    """Pick an item of the menu at the head of a job's page."""
    page.get_by_role("button", name=f"Actions for {job}", exact=True).click()
    page.get_by_role("menuitem", name=action).click()


def check_looks(page: Page, name: str, *, full_page: bool = True) -> None:
    """Nothing is still loading, nothing scrolls sideways, and axe finds nothing; the picture is kept under `name`."""
    wait_until_loaded(page)
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=full_page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    page.evaluate(AXE)
    found = page.evaluate("rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})", RULES)["violations"]
    assert not found, [(each["id"], each["help"], [node["html"] for node in each["nodes"]][:3]) for each in found]


def slow_spec(*, name: str = "slow-line", steps: int = 300, **args: float) -> JobSpec:
    given = yaml.safe_load((WORKLOAD / "job.yaml").read_text())
    given["workload"]["args"].update(args)
    return JobSpec.model_validate({**given, "name": name, "stop": {"steps": steps}})


def submit_slow(client: Client, *, name: str = "slow-line", steps: int = 300, **args: float) -> Job:
    return client.submit(slow_spec(name=name, steps=steps, **args), code=WORKLOAD)

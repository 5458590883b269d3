"""Charts by keyboard alone: all of a page is reached by Tab, has a name and shows the focus; menus and full screen too."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import CDPSession, Locator, Page, expect

from gradstream.client import Client, Job
from tests.browser.support import OpenPage, check_looks, submit_slow, wait_until
from tests.support import JOB_TIMEOUT

STOP = """() => {
  const here = document.activeElement
  if (!here || here === document.body) return null
  window.stops ??= new Set()
  const again = window.stops.has(here)
  window.stops.add(here)
  const shown = (node) => {
    if (!node) return ""
    const {outlineStyle, outlineWidth, borderColor} = getComputedStyle(node)
    return outlineStyle !== "none" && parseFloat(outlineWidth) > 0 ? "outline" : node.matches("input") ? borderColor : ""
  }
  return {again, html: here.outerHTML.slice(0, 200), shown: shown(here) || shown(here.nextElementSibling)}
}"""
"""What has the focus, whether it had it before, and by what one sees that; null when Tab has left the page. Radios are drawn by
the label that follows them, fields by their border."""
MISSED = """() => [...document.querySelectorAll("button, a[href], input, select, textarea, [tabindex]")]
  .filter((each) => !window.stops.has(each) && each.checkVisibility())
  .filter((each) => each.tabIndex >= 0 && !each.disabled && each.type !== "radio")
  .map((each) => each.outerHTML.slice(0, 200))"""
"""What could have the focus and never had it. (Of radios, one in a group has it; arrows go to the others.)"""
MAX_STOPS = 250


@pytest.fixture(scope="module")
def jobs(client: Client) -> list[Job]:
    first = submit_slow(client, name="keyed", steps=40)
    return [client.wait(job.id, timeout=JOB_TIMEOUT) for job in (first, submit_slow(client, name="keyed-too", steps=120))]


PAGES = {
    "metrics": ("/jobs/{0}/metrics", "Training loss"),
    "staleness": ("/jobs/{1}/staleness", "Excess loss against staleness"),
    "compare": ("/compare?jobs={0},{1}&metric=train/loss&target=0.5", "Training loss"),
}
WALKS = {**PAGES, "found": ("/jobs/{0}/metrics?q=loss", "Training loss")}
"""A walk along the charts of all metrics takes half a minute of a core, and they differ from those found in what they draw only."""


@pytest.mark.more
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] if name == "metrics" else []) for name in WALKS])
def test_all_is_reached_by_tab_and_has_a_name(name: str, open_page: OpenPage, jobs: list[Job]) -> None:
    page = _opened(open_page, jobs, name)
    _all_drawn(page)
    reader = page.context.new_cdp_session(page)
    for _ in range(MAX_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if stop is None or stop["again"]:
            break
        assert stop["shown"], f"nothing shows that this has the focus: {stop['html']}"
        assert _name_of_focused(reader), f"this has no name: {stop['html']}"
    else:
        raise AssertionError(f"Tab has not come round in {MAX_STOPS} steps")
    assert page.evaluate(MISSED) == []


def _all_drawn(page: Page) -> None:
    """Charts are made when they come into sight, which a person who goes by Tab sees and these keys are too fast for."""
    page.set_viewport_size({"width": 1440, "height": 9000})
    wait_until(
        page,
        """() => [...document.querySelectorAll("main h2")].every((title) => title.parentElement.childElementCount > 1)
          && !document.querySelector("[aria-label=Loading]")""",
    )


@pytest.mark.more
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_open_menus_are_for_everybody(name: str, width: int, scheme: str, open_page: OpenPage, jobs: list[Job]) -> None:
    page = _opened(open_page, jobs, name, width, scheme)
    more = page.get_by_role("button", name=f"More for {PAGES[name][1]}")
    _open_menu(more)
    check_looks(page, f"{name}-menu-{width}-{scheme}", full_page=False)
    page.keyboard.press("Escape")
    expect(more).to_be_focused()


@pytest.mark.more
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_full_screen_is_for_everybody_and_gives_the_focus_back(
    width: int, scheme: str, open_page: OpenPage, jobs: list[Job]
) -> None:
    page = _opened(open_page, jobs, "metrics", width, scheme)
    more = page.get_by_role("button", name="More for Training loss")
    _open_menu(more)
    page.get_by_role("menuitem", name="Full screen").press("Enter")
    dialog = page.get_by_role("dialog", name="Training loss")
    expect(dialog.get_by_role("img", name=re.compile("^Training loss"))).to_be_visible()
    check_looks(page, f"full-screen-{width}-{scheme}", full_page=False)
    _open_menu(dialog.get_by_role("button", name="More for Training loss"))
    check_looks(page, f"full-screen-menu-{width}-{scheme}", full_page=False)
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(more).to_be_focused()


@pytest.mark.more
def test_the_list_of_keys_names_those_of_charts_where_charts_are(open_page: OpenPage, jobs: list[Job]) -> None:
    page = _opened(open_page, jobs, "metrics")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys.get_by_role("heading", level=3)).to_have_text(["Everywhere", "Metrics", "On a chart that has the focus"])
    expect(keys.get_by_text("Zoom in")).to_be_visible()
    check_looks(page, "keys-of-charts", full_page=False)
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Logs").click()
    page.keyboard.press("?")
    expect(keys.get_by_text("Go to jobs")).to_be_visible()
    expect(keys.get_by_text("Zoom in")).to_have_count(0)


@pytest.mark.more
def test_one_line_alone_by_keys(open_page: OpenPage, jobs: list[Job]) -> None:
    page = _opened(open_page, jobs, "metrics")
    first, second = (page.get_by_role("button", name=re.compile(f"^worker {rank}")).first for rank in (0, 1))
    first.press("Shift+Enter")
    expect(second).to_have_attribute("aria-pressed", "false")
    expect(first).to_have_attribute("aria-pressed", "true")
    first.press("Shift+Enter")
    expect(second).to_have_attribute("aria-pressed", "true")


@pytest.mark.more
def test_the_search_goes_back_and_forward_with_the_address(open_page: OpenPage, jobs: list[Job]) -> None:
    page = _opened(open_page, jobs, "metrics")
    page.evaluate(
        "history.pushState(history.state, '', '?q=wait'); dispatchEvent(new PopStateEvent('popstate', {state: history.state}))"
    )
    search = page.get_by_role("searchbox", name="Search metrics")
    for _ in range(2):
        expect(search).to_have_value("wait")
        page.go_back()
        expect(search).to_have_value("")
        page.go_forward()


@pytest.mark.more
def test_a_picture_that_cannot_be_had_says_why(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(f"/compare?jobs={jobs[0].id}&metric=system/gpu")
    expect(page.get_by_text("None of these jobs has measured system/gpu")).to_be_visible()
    _open_menu(page.get_by_role("button", name="More for GPU"))
    page.get_by_role("menuitem", name="Save as PNG").press("Enter")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("wait for its first value")
    check_looks(page, "no-picture", full_page=False)
    notice.get_by_role("button", name="Close").press("Enter")
    expect(notice).to_have_count(0)


def _opened(open_page: OpenPage, jobs: list[Job], name: str, width: int = 1440, scheme: str = "light") -> Page:
    path, title = WALKS[name]
    page = open_page(path.format(*(job.id for job in jobs)), width=width, scheme=scheme)
    expect(page.get_by_role("img", name=re.compile(f"^{title}: "))).to_be_visible()
    return page


def _open_menu(more: Locator) -> None:
    """By keys. Its first item has the focus then."""
    more.press("Enter")
    expect(more.page.get_by_role("menuitem").first).to_be_focused()


def _name_of_focused(reader: CDPSession) -> str:
    """As it is read out."""
    node = reader.send("Runtime.evaluate", {"expression": "document.activeElement"})["result"]["objectId"]
    [seen] = reader.send("Accessibility.getPartialAXTree", {"objectId": node, "fetchRelatives": False})["nodes"]
    return str(seen.get("name", {}).get("value", ""))

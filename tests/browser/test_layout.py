"""The layout of the charts on the tab Metrics: columns, height, order and hidden charts, kept on the server and shared by link."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from gradstream.api.views import ChartLayout
from gradstream.client import Client, Job
from tests.browser.support import OpenPage, check_looks, still_box, submit_slow
from tests.support import JOB_TIMEOUT, eventually

SHIFTS = """() => new Promise((then) => {
  const own = (list) => list.getEntries().filter((each) => !each.hadRecentInput)
  new PerformanceObserver((list) => then(own(list).reduce((sum, each) => sum + each.value, 0)))
    .observe({type: "layout-shift", buffered: true})
  setTimeout(() => then(0), 500)
})"""
"""How far content has moved by itself since the page was opened, as browsers report it (CLS)."""


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    return client.wait(submit_slow(client, name="laid-out", steps=20).id, timeout=JOB_TIMEOUT)


@pytest.fixture(autouse=True)
def usual_layout(client: Client) -> Iterator[None]:
    yield
    for view in client.views("job-metrics"):
        client.delete_view(view.id)


def titles(page: Page) -> list[str]:
    return page.get_by_role("region", name="Training", exact=True).get_by_role("heading", level=2).all_inner_texts()


def choose(page: Page, chart: str, item: str) -> None:
    page.get_by_role("button", name=f"More for {chart}", exact=True).press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.get_by_role("menuitem", name=item).press("Enter")
    expect(page.get_by_role("menu")).to_have_count(0)


def kept(client: Client) -> ChartLayout:
    found = [view.state for view in client.views("job-metrics")]
    assert len(found) <= 1
    return found[0] if found and isinstance(found[0], ChartLayout) else ChartLayout()


def plot(page: Page, title: str) -> Locator:
    return page.get_by_role("img", name=re.compile(f"^{title}: worker 0"))


@pytest.mark.more
def test_charts_are_arranged_by_keys_and_stay_so_for_all_jobs(open_page: OpenPage, client: Client, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/metrics")
    plot(page, "Training loss").wait_for()
    seen = [box for each in page.locator("h2").all() if (box := each.bounding_box()) and box["y"] + 200 < 900]
    assert len(seen) > 2, "more than two charts in a screen"
    assert page.evaluate(SHIFTS) < 0.02, "nothing moves while the page loads"
    assert titles(page)[:2] == ["Training loss", "Staleness"]
    choose(page, "Staleness", "Move earlier")
    eventually(lambda: titles(page)[:2] == ["Staleness", "Training loss"], "the moved chart in front")
    expect(page.get_by_role("status").filter(has_text=re.compile(r"Staleness: chart 1 of \d"))).to_have_count(1)
    choose(page, "Throughput", "Hide this chart")
    page.get_by_role("button", name="Layout, 1 hidden").press("Enter")
    layout = page.get_by_role("dialog")
    layout.get_by_role("radiogroup", name="Columns").get_by_text("2", exact=True).click()
    layout.get_by_role("slider").press("ArrowRight")
    check_looks(page, "layout-of-charts", full_page=False)
    eventually(lambda: kept(client).height == 180, "the last change")
    now = kept(client)
    assert (now.columns, now.hidden, now.order[:2]) == (2, ["train/samples_per_second"], ["train/staleness", "train/loss"])

    page.reload()
    plot(page, "Staleness").wait_for()
    assert titles(page)[:2] == ["Staleness", "Training loss"]
    assert "Throughput" not in titles(page)
    assert page.evaluate(SHIFTS) < 0.02
    first, second, third = (page.locator("section section").nth(place).bounding_box() for place in range(3))
    assert first
    assert second
    assert third
    assert first["y"] == second["y"] < third["y"], "two columns"
    page.get_by_role("button", name="Layout, 1 hidden").press("Enter")
    page.get_by_role("button", name="Show Throughput").press("Enter")
    page.get_by_role("button", name="Reset the layout").press("Enter")
    eventually(lambda: kept(client) == ChartLayout(), "the usual layout")
    eventually(lambda: titles(page)[:2] == ["Training loss", "Staleness"], "the usual order")


@pytest.mark.more
def test_charts_are_arranged_by_dragging(open_page: OpenPage, client: Client, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/metrics")
    plot(page, "Training loss").wait_for()
    still_box(plot(page, "Throughput"))
    page.get_by_text("Throughput", exact=True).drag_to(plot(page, "Training loss"))
    eventually(lambda: titles(page)[:2] == ["Throughput", "Training loss"], "the dragged chart in front")
    edge = still_box(page.get_by_title("Drag to change the height of all charts").first)
    page.mouse.move(edge["x"] + 100, edge["y"] + 6)
    page.mouse.down()
    page.mouse.move(edge["x"] + 100, edge["y"] + 66, steps=6)
    page.mouse.up()
    eventually(lambda: kept(client).height == 230, "the new height")
    box = plot(page, "Training loss").bounding_box()
    assert box
    assert box["height"] == 230


@pytest.mark.more
def test_a_shared_layout_is_seen_by_link_and_may_be_taken(open_page: OpenPage, client: Client, job: Job) -> None:
    client.save_view("job-metrics", "default", ChartLayout(columns=1))
    lent = client.save_view("job-metrics", "for the team", ChartLayout(hidden=["train/loss"]), shared=True)
    page = open_page(f"/jobs/{job.id}/metrics?layout={lent.id}", width=390, scheme="dark", watched=False)
    plot(page, "Staleness").wait_for()
    assert "Training loss" not in titles(page)
    check_looks(page, "shared-layout-390", full_page=False)
    client.delete_view(lent.id)
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("Its owner may have deleted it")
    page.get_by_role("button", name="Close").click()
    plot(page, "Training loss").wait_for()
    assert "layout=" not in page.url

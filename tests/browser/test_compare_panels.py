"""Panels of Compare that the user adds, removes and moves: by mouse and by keys, kept in the address and in saved views."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import WORKLOAD, OpenPage, check_looks, every_look, slow_spec, still_box
from tests.support import JOB_TIMEOUT, eventually

TIMEOUT_MS = 60_000
USUAL = ["Eval loss", "Time to a target", "Scatter plot", "Settings against results", "Importance of settings", "Job files"]


@pytest.fixture(scope="module")
def jobs(client: Client) -> list[Job]:
    given = slow_spec(name="p", steps=20, pause=0.0).model_dump(mode="json", exclude_none=True)
    specs = [JobSpec.model_validate({**given, "name": f"p-{lr}", "strategy": {"name": "async", "lr": lr}}) for lr in (0.001, 0.05)]
    made = [client.submit(one, code=WORKLOAD) for one in specs]
    return [client.wait(job.id, timeout=JOB_TIMEOUT) for job in made]


@pytest.fixture(autouse=True)
def no_views(client: Client) -> Iterator[None]:
    yield
    for view in client.views("compare"):
        client.delete_view(view.id)


def link(jobs: list[Job], **chosen: object) -> str:
    rest = "".join(f"&{key}={value}" for key, value in {"metric": "eval/loss", **chosen}.items())
    return f"/compare?jobs={','.join(str(job.id) for job in jobs)}{rest}"


def titles(page: Page) -> list[str]:
    return page.locator("main").get_by_role("heading", level=2).all_inner_texts()


def shows(page: Page, *wanted: str) -> None:
    eventually(lambda: titles(page) == list(wanted), f"the panels {wanted}")


def panels(page: Page) -> list[str] | None:
    found = parse_qs(urlsplit(page.url).query).get("panels")
    return found[0].split(",") if found else None


def menu(page: Page, panel: str, item: str) -> None:
    page.get_by_role("button", name=f"More for {panel}", exact=True).press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.get_by_role("menuitem", name=item).press("Enter")
    expect(page.get_by_role("menu")).to_have_count(0)


def add(page: Page, panel: str) -> None:
    page.get_by_role("button", name="Panels", exact=True).press("Enter")
    page.get_by_role("dialog", name="Panels").get_by_role("button", name=panel, exact=True).press("Enter")
    expect(page.get_by_role("dialog", name="Panels")).to_have_count(0)


def region(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


@pytest.mark.more
def test_an_address_without_panels_has_the_usual_ones(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs, sx="strategy.lr"))
    shows(page, *USUAL)
    assert panels(page) is None


def test_panels_are_arranged_by_keys_alone_and_kept_in_the_address_and_in_a_view(
    open_page: OpenPage, client: Client, jobs: list[Job]
) -> None:
    page = open_page(link(jobs))
    shows(page, *USUAL)
    menu(page, "Time to a target", "Remove this panel")
    shows(page, USUAL[0], *USUAL[2:])
    expect(page.locator("[data-columns]")).to_be_focused()
    menu(page, "Job files", "Move earlier")
    shows(page, *USUAL[:1], *USUAL[2:4], "Job files", "Importance of settings")
    expect(page.get_by_role("status").filter(has_text="Job files: panel 4 of 5")).to_have_count(1)
    add(page, "Curves of another metric")
    shows(page, *USUAL[:1], *USUAL[2:4], "Job files", "Importance of settings", "Training loss")
    expect(page.get_by_role("button", name="Panels", exact=True)).to_be_focused()
    assert panels(page) == ["curves", "scatter", "parallel", "diff", "importance", "curve.1:train/loss"]

    page.get_by_role("button", name="Saved views").press("Enter")
    page.get_by_role("textbox", name="Name").fill("my panels")
    page.keyboard.press("Enter")
    saved = eventually(lambda: client.views("compare"), "the saved view")[0].as_dict()["state"]["query"]
    other = open_page(f"/compare?{saved}")
    shows(other, *titles(page))
    other.get_by_role("heading", name="Training loss").scroll_into_view_if_needed()  # curves out of sight are not asked for
    expect(other.get_by_role("img", name=re.compile("^Training loss: p-0.001, .*p-0.05, "))).to_be_visible(timeout=TIMEOUT_MS)


@pytest.mark.more
def test_each_added_chart_and_plot_has_fields_of_its_own(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs, panels="curves"))
    shows(page, "Eval loss")
    for panel in ("Curves of another metric", "Another scatter plot", "Another scatter plot"):
        add(page, panel)
    shows(page, "Eval loss", "Training loss", "Last eval loss against Time", "Last eval loss against Time")
    region(page, "Training loss").get_by_role("combobox", name="Metric").click()
    page.get_by_role("option", name="Staleness", exact=True).click()
    plot = region(page, "Last eval loss against Time").last
    plot.get_by_role("combobox", name="Field on X").click()
    page.get_by_role("option", name="strategy.lr", exact=True).click()
    shows(page, "Eval loss", "Staleness", "Last eval loss against Time", "Last eval loss against strategy.lr")
    region(page, "Last eval loss against strategy.lr").get_by_role("switch", name="Log X").click(force=True)
    wanted = ["curves", "curve.1:train/staleness", "plot.1:seconds~last~", "plot.2:strategy.lr~last~x"]
    eventually(lambda: panels(page) == wanted, "the logarithmic axis in the address")
    expect(
        page.get_by_role("img", name=re.compile("^Last eval loss against strategy.lr: .*p-0.05, strategy.lr 0.05"))
    ).to_be_visible()
    other = open_page(page.url)
    shows(other, *titles(page))
    menu(other, "Staleness", "Remove this panel")
    shows(other, "Eval loss", "Last eval loss against Time", "Last eval loss against strategy.lr")


@pytest.mark.more
def test_panels_are_arranged_by_dragging_in_columns(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs, panels="target,scatter,diff"))
    shows(page, "Time to a target", "Scatter plot", "Job files")
    still_box(region(page, "Job files"))
    page.get_by_role("heading", name="Job files").get_by_text("Job files").drag_to(region(page, "Time to a target"))
    shows(page, "Job files", "Time to a target", "Scatter plot")
    page.get_by_role("button", name="Panels", exact=True).click()
    page.get_by_role("radiogroup", name="Columns").get_by_text("2", exact=True).click()
    page.keyboard.press("Escape")
    boxes = [still_box(region(page, name)) for name in titles(page)]
    assert boxes[0]["y"] == boxes[1]["y"] < boxes[2]["y"], "two columns"
    assert parse_qs(urlsplit(page.url).query)["grid"] == ["2"]
    page.get_by_role("button", name="Panels", exact=True).click()
    page.get_by_role("button", name="Reset the panels").click()
    shows(page, *USUAL)
    assert panels(page) is None


@pytest.mark.more
def test_without_any_panel_the_page_says_how_to_add_one(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs, panels="none"))
    expect(page.get_by_text("No panel is shown. Add one with Panels above.")).to_be_visible(timeout=TIMEOUT_MS)
    add(page, "Importance of settings")
    shows(page, "Importance of settings")


@pytest.mark.more
@every_look
def test_arranged_panels_can_be_read_by_everybody(width: int, scheme: str, look_at: OpenPage, jobs: list[Job]) -> None:
    wanted = "curves,curve.1:train/loss,scatter,plot.1:strategy.lr~best~x,target,importance,parallel,diff"
    page = look_at(link(jobs, panels=wanted, grid=2), width=width, scheme=scheme)
    page.get_by_role("heading", name="Training loss").scroll_into_view_if_needed(timeout=TIMEOUT_MS)
    expect(page.get_by_role("img", name=re.compile("^Training loss: p-"))).to_be_visible(timeout=TIMEOUT_MS)
    page.get_by_role("button", name="Panels", exact=True).press("Enter")
    check_looks(page, f"panels-menu-{width}-{scheme}", full_page=False)
    page.keyboard.press("Escape")
    check_looks(page, f"panels-{width}-{scheme}")

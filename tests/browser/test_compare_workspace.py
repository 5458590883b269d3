"""The workspace of compared jobs: which runs are drawn, what the table says of them, and that a link keeps all of it."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import WORKLOAD, OpenPage, check_looks, every_look, slow_spec, still_box
from tests.support import JOB_TIMEOUT

TIMEOUT_MS = 60_000
RATES = (0.0001, 0.05, 0.01)


@pytest.fixture(scope="module")
def jobs(client: Client) -> list[Job]:
    """Alike but for their learning rates, of which the greatest learns fastest."""
    given = slow_spec(name="w", steps=60, pause=0.01).model_dump(mode="json", exclude_none=True)
    specs = [
        JobSpec.model_validate({**given, "name": f"w-{lr}", "strategy": {"name": "async", "lr": lr}, "evaluate": {"every": 0.1}})
        for lr in RATES
    ]
    made = [client.submit(one, code=WORKLOAD) for one in specs]
    return [client.wait(job.id, timeout=JOB_TIMEOUT) for job in made]


def link(jobs: list[Job], **chosen: object) -> str:
    rest = "".join(f"&{key}={value}" for key, value in {"metric": "eval/loss", **chosen}.items())
    return f"/compare?jobs={','.join(str(job.id) for job in jobs)}{rest}"


def chart(page: Page, *names: str) -> Locator:
    """The chart that draws these jobs and no other."""
    return page.get_by_role("img", name=re.compile("^Eval loss: " + "; ".join(f"{re.escape(name)}, [^;]*" for name in names) + "$"))


def asked(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


@pytest.mark.more
def test_an_eye_hides_a_job_everywhere_and_a_link_keeps_it(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs))
    names = [job.name for job in jobs]
    expect(chart(page, *names)).to_be_visible(timeout=TIMEOUT_MS)
    page.get_by_role("button", name=f"Draw {names[0]}").press("Enter")
    expect(chart(page, *names[1:])).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.get_by_text("2 of 3 jobs drawn")).to_be_visible()
    page.get_by_role("button", name=f"Highlight {names[1]}").press("Enter")
    expect(page.get_by_role("button", name=f"Highlight {names[1]}")).to_have_attribute("aria-pressed", "true")
    other = open_page(page.url)
    expect(chart(other, *names[1:])).to_be_visible(timeout=TIMEOUT_MS)
    expect(other.get_by_role("button", name=f"Draw {names[0]}")).to_have_attribute("aria-pressed", "false")
    expect(other.get_by_role("button", name=f"Highlight {names[1]}")).to_have_attribute("aria-pressed", "true")
    other.get_by_role("button", name="Show all jobs").click()
    expect(chart(other, *names)).to_be_visible(timeout=TIMEOUT_MS)


@pytest.mark.more
def test_the_table_says_the_best_value_and_sorts_by_any_column(open_page: OpenPage, client: Client, jobs: list[Job]) -> None:
    page = open_page(link(jobs))
    table = page.get_by_role("table", name="Compared jobs")
    rows = table.get_by_role("row")
    expect(rows).to_have_count(4, timeout=TIMEOUT_MS)
    table.get_by_role("button", name="lr", exact=True).click()
    for number, job in enumerate(sorted(jobs, key=lambda job: float(job.name[2:])), start=1):
        expect(rows.nth(number)).to_contain_text(job.name)
        best = min(value for batch in client.metrics(job.id, names="eval/loss") for *_, value in batch.points if value is not None)
        cell = rows.nth(number).get_by_role("cell").nth(2)
        expect(cell).to_have_text(re.compile(r"\d"), timeout=TIMEOUT_MS)
        assert float(cell.inner_text()) == pytest.approx(best, rel=0.01)
    table.get_by_role("button", name="lr", exact=True).click()
    expect(rows.nth(1)).to_contain_text("w-0.05")
    assert asked(page)["order"] == ["-strategy.lr"]


@pytest.mark.more
def test_a_scatter_plot_of_any_two_fields_stands_in_the_link(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs, sx="strategy.lr", slog="x"))
    panel = page.get_by_role("region", name="Scatter plot", exact=True)
    plot = panel.get_by_role("img", name=re.compile("^Scatter plot: "))
    for job in jobs:
        expect(plot).to_have_accessible_name(
            re.compile(f"{job.name}, strategy.lr {job.name[2:]}, Best eval loss [0-9]"), timeout=TIMEOUT_MS
        )
    expect(panel.get_by_role("switch", name="Log X")).to_be_checked()
    panel.get_by_role("combobox", name="Field on Y").click()
    page.get_by_role("option", name="Samples", exact=True).click()
    expect(plot).to_have_accessible_name(re.compile("Samples 1,920"), timeout=TIMEOUT_MS)
    assert asked(page)["sy"] == ["samples"]
    other = open_page(link(jobs, metric="user/absent", sy="last"))
    expect(other.get_by_text(re.compile("3 jobs without a value of Last "))).to_be_visible(timeout=TIMEOUT_MS)


@pytest.mark.more
def test_a_range_of_an_axis_filters_the_jobs_everywhere(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs))
    names = [job.name for job in jobs]
    expect(chart(page, *names)).to_be_visible(timeout=TIMEOUT_MS)
    panel = page.get_by_role("region", name="Settings against results", exact=True)
    panel.get_by_role("button", name="Ranges").press("Enter")
    panel.get_by_role("textbox", name="strategy.lr from").fill("0.001")
    panel.get_by_role("textbox", name="strategy.lr to").fill("0.02")
    expect(chart(page, names[2])).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.get_by_text("1 of 3 jobs drawn")).to_be_visible()
    assert asked(page)["within"] == ["strategy.lr:0.001~0.02"]
    other = open_page(page.url)
    expect(chart(other, names[2])).to_be_visible(timeout=TIMEOUT_MS)
    other.get_by_role("button", name="Clear all ranges").click()
    expect(chart(other, *names)).to_be_visible(timeout=TIMEOUT_MS)
    assert "within" not in asked(other)


@pytest.mark.more
def test_a_drag_along_an_axis_selects_a_range(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs))
    names = [job.name for job in jobs]
    expect(chart(page, *names)).to_be_visible(timeout=TIMEOUT_MS)
    drawing = page.get_by_role("img", name=re.compile("^Settings against results: 3 jobs over strategy.lr"))
    brush = drawing.locator("rect").first
    box = still_box(brush)
    x, middle, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, box["y"] + 1
    page.mouse.move(x, middle)
    page.mouse.down()
    page.mouse.move(x, top, steps=4)
    page.mouse.up()
    expect(chart(page, names[1])).to_be_visible(timeout=TIMEOUT_MS)
    assert re.fullmatch(r"strategy\.lr:0\.02\d*~", asked(page)["within"][0])


@pytest.mark.more
@every_look
def test_the_workspace_can_be_read_by_everybody(width: int, scheme: str, look_at: OpenPage, jobs: list[Job]) -> None:
    page = look_at(link(jobs, off=jobs[0].id, pick=jobs[1].id), width=width, scheme=scheme)
    expect(chart(page, *(job.name for job in jobs[1:]))).to_be_visible(timeout=TIMEOUT_MS)
    check_looks(page, f"workspace-{width}-{scheme}")

"""Importance of settings on the page Compare: as the server computes it from real jobs, and what it says of too few."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import WORKLOAD, OpenPage, check_looks, every_look, slow_spec

TIMEOUT_MS = 60_000


@pytest.fixture(scope="module")
def jobs(client: Client) -> list[Job]:
    """The fewest runs that are ranked: four seeds of two learning rates, one of which learns next to nothing."""
    given = slow_spec(name="i", steps=20, pause=0.0).model_dump(mode="json", exclude_none=True)
    specs = [
        JobSpec.model_validate({**given, "name": f"i-{lr}-{seed}", "seed": seed, "strategy": {"name": "async", "lr": lr}})
        for lr in (0.0001, 0.05)
        for seed in range(4)
    ]
    made = [client.submit(one, code=WORKLOAD) for one in specs]
    return [client.wait(job.id, timeout=240) for job in made]


def link(jobs: list[Job], **chosen: object) -> str:
    rest = "".join(f"&{key}={value}" for key, value in {"metric": "eval/loss", **chosen}.items())
    return f"/compare?jobs={','.join(str(job.id) for job in jobs)}{rest}"


def panel(page: Page) -> Locator:
    found = page.get_by_role("region", name="Importance of settings", exact=True)
    found.scroll_into_view_if_needed(timeout=TIMEOUT_MS)
    return found


@pytest.mark.more
def test_the_panel_ranks_as_the_server_does(open_page: OpenPage, client: Client, jobs: list[Job]) -> None:
    found = client.importance([job.id for job in jobs], "min:eval/loss")
    assert found.believed
    assert found.settings[0].settings == ["strategy.lr"]
    shown = panel(open_page(link(jobs)))
    rows = shown.get_by_role("row")
    expect(rows).to_have_count(1 + len(found.settings), timeout=TIMEOUT_MS)
    expect(shown.get_by_role("status")).to_have_text(re.compile(f"^8 runs, out-of-bag R² {found.r2:.2f}: "))
    for number, each in enumerate(found.settings, start=1):
        expect(rows.nth(number).get_by_role("rowheader")).to_have_text(each.settings[0])
    expect(rows.nth(1)).to_contain_text("Falls as it rises (ρ −")


@pytest.mark.more
def test_the_figure_stands_in_the_link(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs))
    panel(page).get_by_role("combobox", name="Figure").click()
    page.get_by_role("option", name="Samples", exact=True).click()
    said = "The figure is the same in all runs"
    expect(panel(page).get_by_text(said)).to_be_visible(timeout=TIMEOUT_MS)
    assert parse_qs(urlsplit(page.url).query)["explain"] == ["samples"]
    expect(panel(open_page(page.url)).get_by_text(said)).to_be_visible(timeout=TIMEOUT_MS)


@pytest.mark.more
def test_hidden_runs_do_not_count_and_too_few_are_refused(open_page: OpenPage, jobs: list[Job]) -> None:
    shown = panel(open_page(link(jobs, off=jobs[0].id)))
    said = "Only 7 ended runs have a finite value of this figure. Compare at least 8"
    expect(shown.get_by_text(said)).to_be_visible(timeout=TIMEOUT_MS)


@pytest.mark.more
@every_look
def test_the_ranking_can_be_read_by_everybody(width: int, scheme: str, look_at: OpenPage, jobs: list[Job]) -> None:
    page = look_at(link(jobs), width=width, scheme=scheme)
    expect(panel(page).get_by_role("row", name=re.compile("^strategy.lr"))).to_be_visible(timeout=TIMEOUT_MS)
    check_looks(page, f"importance-{width}-{scheme}")

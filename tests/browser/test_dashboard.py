"""The first tab of a job's page: a line of header, four figures, curves, who is late; no panel where a sentence will do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from gradstream.client import Client, Job
from tests.browser.support import OpenPage, check_looks, every_look, submit_slow, wait_until
from tests.support import JOB_TIMEOUT, eventually

TILES = ["Samples", "Throughput", "Training loss", "Eval loss"]
FOLDED = ["Ledger", "Attempts", "Process failures", "Stragglers"]
STOPS = ["Time breakdown", "Staleness", "Push ledger", "Checkpoints"]


@pytest.fixture(scope="module")
def job(client: Client) -> Iterator[Job]:
    """A job that trains as long as the tests look at it."""
    job = submit_slow(client, name="watched", steps=100_000, pause=0.05)
    eventually(lambda: client.job(job.id).progress.eval, "a first evaluation")
    yield job
    client.stop(job.id)


@pytest.fixture(scope="module")
def ended(client: Client) -> Job:
    job = client.wait(submit_slow(client, name="plain", steps=20).id, timeout=JOB_TIMEOUT)
    assert job.status == "succeeded"
    return job


def top(shown: Locator) -> float:
    box = shown.bounding_box()
    assert box
    return box["y"]


def test_state_figures_and_curves_are_seen_at_once(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}")
    pace = page.get_by_text(re.compile(r"^for (\d+ min )?[\d.]+ (s|min) · \d+ % · .* left$"))
    expect(pace).to_be_visible()
    title = page.get_by_role("heading", name=job.name, level=1)
    for shown in (pace, page.get_by_text("running", exact=True), page.get_by_role("link", name="Run again")):
        assert abs(top(shown) - top(title)) < 16, "the header has one line"
    tiles = page.locator("dl").first.locator("dt")
    expect(tiles).to_have_text(TILES)
    assert len({top(tile) for tile in tiles.all()}) == 1
    loss, evaluation = (page.get_by_role("img", name=re.compile(f"^{title}: ")) for title in ("Training loss", "Eval loss"))
    expect(loss).to_be_in_viewport(ratio=1)
    expect(evaluation).to_be_in_viewport(ratio=1)
    assert top(loss) == top(evaluation)


@pytest.mark.more
def test_what_one_sentence_says_has_no_panel(open_page: OpenPage, ended: Job) -> None:
    page = open_page(f"/jobs/{ended.id}")
    expect(page.get_by_text(re.compile(r"^Ledger: 40 pushes, all applied\. Attempts: 1 of at most \d\.$"))).to_be_visible()
    expect(page.get_by_role("region", name="Time breakdown")).to_contain_text("Both workers")
    for name in FOLDED:
        expect(page.get_by_role("region", name=name)).to_have_count(0)


def test_a_job_that_fails_at_once_shows_its_traceback_and_no_empty_panel(open_page: OpenPage, client: Client) -> None:
    failed = client.wait(submit_slow(client, name="fails-at-once", pause=-1.0).id, timeout=JOB_TIMEOUT)
    page = open_page(f"/jobs/{failed.id}", width=390)
    output = page.get_by_role("alert").locator("pre")
    expect(output).to_contain_text("ValueError: sleep length must be non-negative")
    box = output.bounding_box()
    assert box
    assert box["x"] + box["width"] <= 390, "long lines scroll in their frame"
    assert box["y"] + box["height"] < top(page.get_by_role("tab", name="Overview"))
    expect(page.get_by_text("Nothing has been pushed: the job failed first.")).to_be_visible()
    for name in [*FOLDED, "Time breakdown"]:
        expect(page.get_by_role("region", name=name)).to_have_count(0)
    page.get_by_role("tab", name="Staleness").click()
    expect(page.get_by_role("tabpanel")).to_have_text("No push has been applied: the job failed first.")


@pytest.mark.more
def test_the_tour_leads_by_keys_through_four_panels_and_is_offered_once(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}")
    page.get_by_role("button", name="Start the tour").press("Enter")
    for number, title in enumerate(STOPS):
        step = page.get_by_role("dialog", name=title)
        expect(step).to_be_focused()
        expect(step).to_contain_text(f"{number + 1} of {len(STOPS)}")
        expect(page.locator("[data-toured]")).to_have_count(1)
        expect(page.locator("[data-toured]")).to_be_in_viewport()
        step.get_by_role("button", name="Next" if number < len(STOPS) - 1 else "Done").press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("[data-toured]")).to_have_count(0)
    expect(page).to_have_url(re.compile(f"/jobs/{job.id}/files$"))
    page.goto(f"/jobs/{job.id}")
    expect(page.get_by_role("button", name=f"Actions for {job.name}")).to_be_visible()
    expect(page.get_by_role("button", name="Start the tour")).to_have_count(0)

    page.goto("/nodes")
    page.get_by_role("button", name="Help").click()
    page.get_by_role("menuitem", name="Tour of a job's page").click()
    expect(page.get_by_role("dialog", name=STOPS[0])).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    wait_until(page, "document.activeElement === document.getElementById('main')")


@pytest.mark.more
@every_look
@pytest.mark.parametrize("stop", [pytest.param("time", marks=pytest.mark.long), "ledger"])
def test_the_tour_looks_well(stop: str, width: int, scheme: str, look_at: OpenPage, ended: Job) -> None:
    page: Page = look_at(f"/jobs/{ended.id}{'' if stop == 'time' else '/staleness'}?tour={stop}", width=width, scheme=scheme)
    expect(page.locator("[data-toured]")).to_be_in_viewport()
    check_looks(page, f"tour-{stop}-{width}-{scheme}", full_page=False)

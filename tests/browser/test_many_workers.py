"""Charts of jobs with many workers: their mean and range, the axis of map and charts, and jobs in which no push is stale."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import WORKLOAD, OpenPage, check_looks, every_look, slow_spec, still_box
from tests.support import JOB_TIMEOUT

WORKERS = 3


@pytest.fixture(scope="module")
def jobs(client: Client) -> dict[str, Job]:
    """One under asp with checkpoints, one in rounds."""
    given = slow_spec(name="many", steps=150, pause=0.01).model_dump(mode="json", exclude_unset=True)
    given["roles"]["worker"]["count"] = WORKERS
    changes = {
        "asp": {"checkpoint": {"every": 1}},
        "bsp": {"name": "rounds", "strategy": {"name": "sync", "lr": 0.05}, "stop": {"steps": 40}},
    }
    started = {gate: client.submit(JobSpec.model_validate({**given, **change}), code=WORKLOAD) for gate, change in changes.items()}
    return {gate: client.wait(job.id, timeout=JOB_TIMEOUT) for gate, job in started.items()}


@pytest.mark.more
def test_three_workers_are_drawn_as_their_mean_and_range_until_each_is_wanted(open_page: OpenPage, jobs: dict[str, Job]) -> None:
    page = open_page(f"/jobs/{jobs['asp'].id}/metrics?q=loss")
    loss = page.get_by_role("img", name=re.compile(f"^Training loss: mean of {WORKERS} workers, 450 points"))
    box = still_box(loss.locator(".u-over"))
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_role("tooltip")).to_contain_text(
        re.compile(r"^Samples [\d,]+\s*lowest\s*mean\s*highest\s*points\s*mean of 3 workers")
    )
    page.get_by_role("button", name="More for Training loss").press("Enter")
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Save as SVG").click()
    picture = download.value.path().read_text()
    assert all(f">{title}</text>" in picture for title in ("many: Training loss", "Samples", "Training loss")), (
        "the picture and its axes have titles"
    )
    page.get_by_role("radiogroup", name="Lines of the charts").get_by_text("Each worker").click()
    expect(page.get_by_role("img", name=re.compile("^Training loss: worker 0, 150 points.*worker 2, 150 points"))).to_be_visible()
    page.wait_for_url(re.compile("lines=each"))


@pytest.mark.more
def test_the_overview_shows_the_loss_and_its_evaluation(open_page: OpenPage, jobs: dict[str, Job]) -> None:
    page = open_page(f"/jobs/{jobs['asp'].id}")
    for title in ("Training loss", "Eval loss"):
        expect(page.get_by_role("img", name=re.compile(f"^{title}: "))).to_be_in_viewport()


@pytest.mark.more
def test_map_and_charts_share_the_axis_of_time_and_its_marks(open_page: OpenPage, jobs: dict[str, Job]) -> None:
    page = open_page(f"/jobs/{jobs['asp'].id}/staleness")
    heat = page.get_by_role("img", name=re.compile("^Mean staleness of 3 workers over time"))
    box = still_box(heat)
    chart = page.get_by_role("img", name=re.compile("^Staleness: mean of 3 workers"))
    plot = still_box(chart.locator(".u-over"))
    assert abs(box["x"] - plot["x"]) <= 2, "one lies above the other"
    assert abs(box["width"] - plot["width"]) <= 4, "both end at one place"
    expect(page.locator("section").filter(has=heat).get_by_text("checkpoint", exact=True)).to_be_visible()
    expect(page.locator("section").filter(has=chart).get_by_text("checkpoint", exact=True)).to_be_visible()
    page.get_by_role("radiogroup", name="X axis").get_by_text("Steps").click()
    expect(page.get_by_role("img", name=re.compile("^Mean staleness of 3 workers over steps"))).to_be_visible()


@pytest.mark.more
def test_excess_loss_and_counts_have_axes_that_can_be_read(open_page: OpenPage, jobs: dict[str, Job]) -> None:
    page = open_page(f"/jobs/{jobs['asp'].id}/staleness")
    excess = page.get_by_role("heading", name="Excess loss against staleness")
    excess.scroll_into_view_if_needed()
    expect(page.get_by_role("img", name=re.compile("^Excess loss against staleness: all workers, "))).to_be_visible()
    scale = page.get_by_role("radiogroup", name="Scale of the counts")
    bars = page.locator("section").filter(has=scale)
    expect(bars.get_by_text("0", exact=True).first).to_be_visible()
    expect(bars.get_by_text("worker 2").first).to_be_visible()
    scale.get_by_text("Logarithmic").click()
    for count in ("1", "10", "100"):
        expect(bars.get_by_text(count, exact=True).first).to_be_visible()


@pytest.mark.more
@every_look
def test_a_job_in_rounds_says_in_one_sentence_that_no_push_is_stale(
    width: int, scheme: str, open_page: OpenPage, jobs: dict[str, Job]
) -> None:
    page = open_page(f"/jobs/{jobs['bsp'].id}/staleness", width=width, scheme=scheme)
    expect(page.get_by_text("No push of this job is stale: under bsp, all workers wait for the round to end.")).to_contain_text(
        "waited"
    )
    expect(page.get_by_role("img", name=re.compile("staleness"))).to_have_count(0)
    expect(page.get_by_role("heading", name="Wait time", exact=True)).to_be_visible()
    check_looks(page, f"staleness-bsp-{width}-{scheme}")

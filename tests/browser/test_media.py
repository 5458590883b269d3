"""The tab of a job's logged media."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import OpenPage, check_looks, every_look

USERLAND = Path(__file__).parents[1] / "userland"
EPOCHS = 12


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    given = {
        "name": "media",
        "workload": {"entrypoint": "logs_media:LogsMedia"},
        "strategy": {"name": "sync", "lr": 0.3},
        "roles": {"worker": {"count": 2, "device": "cpu"}, "server": {"count": 1}},
        "batch_size": 8,
        "evaluate": {"every": "1 epochs"},
        "stop": {"epochs": EPOCHS},
    }
    ended = client.wait(client.submit(JobSpec.model_validate(given), code=USERLAND).id, timeout=240)
    assert ended.status == "succeeded", ended.message
    return ended


@pytest.mark.few(1)
@every_look
def test_each_name_has_a_panel_with_its_newest_item(width: int, scheme: str, look_at: OpenPage, client: Client, job: Job) -> None:
    page = look_at(f"/jobs/{job.id}/media", width=width, scheme=scheme)
    expect(page.get_by_role("tab", name="Media")).to_have_attribute("aria-selected", "true")
    image = page.get_by_role("img", name=re.compile("^inputs of the evaluator. Version"))
    expect(image).to_be_visible()
    [width_there, height_there] = image.evaluate("(image) => [image.naturalWidth, image.naturalHeight]")
    newest = list(client.media_items(job.id, "inputs"))[-1]
    assert (width_there, height_there) == (newest.width, newest.height)
    expect(page.get_by_role("img", name="curve of worker 0.")).to_be_visible()
    expect(page.get_by_role("img", name=f"Distribution of weights over {EPOCHS} histograms")).to_be_visible()
    expect(page.get_by_role("region", name="Text epoch")).to_have_text(f"<b>pass</b> {EPOCHS - 1} is over")
    expect(page.get_by_role("region", name="Table scores").get_by_role("row").nth(1)).to_contain_text("loss")
    check_looks(page, f"media-{width}-{scheme}")


@pytest.mark.more
def test_a_slider_goes_back_in_time_and_a_process_is_chosen(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/media")
    text, slider = page.get_by_role("region", name="Text epoch"), page.get_by_role("slider", name="Step of epoch")
    slider.press("Home")
    expect(text).to_have_text("<b>pass</b> 0 is over")
    slider.press("ArrowRight")
    expect(text).to_have_text("<b>pass</b> 1 is over")
    page.get_by_role("combobox", name="Process of epoch").click()
    page.get_by_role("option", name="worker 1").click()
    expect(page.get_by_role("region", name="epoch", exact=True)).to_contain_text(f"{EPOCHS} texts of worker 1")
    expect(text).to_have_text("<b>pass</b> 1 is over")
    page.get_by_role("radiogroup", name="View of weights").get_by_text("Table", exact=True).click()
    expect(page.get_by_role("region", name="weights in numbers").get_by_role("row")).to_have_count(EPOCHS + 1)


@pytest.mark.more
def test_a_table_is_sorted_and_saved(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/media")
    table = page.get_by_role("region", name="Table scores")
    head = table.get_by_role("columnheader", name="metric")
    for order in ("ascending", "descending"):
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", order)
        expect(table.get_by_role("row").nth(1)).to_contain_text("loss" if order == "ascending" else "worst")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    assert Path(download.value.path()).read_text().splitlines()[0] == "metric,value"

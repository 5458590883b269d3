"""What happens is seen as it happens, also when the API comes and goes."""

from __future__ import annotations

import re

import psutil
import pytest
from playwright.sync_api import Locator, Page, expect

from gradstream.client import Client
from gradstream.local.platform import LocalPlatform
from tests.browser.support import WORKLOAD, OpenPage, pick_action, slow_spec, submit_slow
from tests.support import JOB_TIMEOUT

LOSS = re.compile("^Training loss: ")
LONG = 100_000
"""Steps of a job that is stopped in time."""


def test_the_list_shows_a_job_come_run_and_end_without_a_reload(open_page: OpenPage, client: Client) -> None:
    page = open_page("/jobs?q=passing-by")
    expect(page.get_by_text("No job matches these filters")).to_be_visible()
    job = submit_slow(client, name="passing-by", steps=LONG, pause=0.2)
    row = page.get_by_role("row", name=re.compile("passing-by"))
    expect(row).to_have_attribute("data-status", "running")
    client.stop(job.id)
    expect(row).to_have_attribute("data-status", "cancelled")
    assert client.job(job.id).status == "cancelled"


@pytest.mark.more
def test_a_killed_api_costs_no_point_and_doubles_none(open_page: OpenPage, client: Client, platform: LocalPlatform) -> None:
    job = submit_slow(client, name="outage", steps=LONG, pause=0.2)
    page = open_page(f"/jobs/{job.id}/metrics", watched=False)
    expect(page.get_by_role("img", name=LOSS)).to_be_visible()
    connection = page.locator("[data-connection]")
    expect(connection).to_have_attribute("data-connection", "live")

    _api_of(platform).kill()
    expect(connection).to_have_attribute("data-connection", "reconnecting")
    expect(connection).to_have_attribute("data-connection", "live")

    client.stop(job.id)
    assert client.wait(job.id, timeout=JOB_TIMEOUT).status == "cancelled"
    expect(connection).to_have_attribute("data-connection", "ended")
    stored = {series.rank: series.total for chart in client.charts(job.id, ["train/loss"]) for series in chart.series}
    assert stored.keys() == {0, 1}
    expected = "; ".join(rf"worker {rank}, {count} points, .*" for rank, count in sorted(stored.items()))
    expect(page.get_by_role("img", name=re.compile(f"^Training loss: {expected}"))).to_be_visible()


@pytest.mark.more
def test_what_a_push_costs_and_how_its_shards_are_loaded(open_page: OpenPage, client: Client) -> None:
    job = client.submit(slow_spec(name="two-shards", steps=120).with_shards(2), code=WORKLOAD)
    page = open_page(f"/jobs/{job.id}/metrics")
    split = page.get_by_role("img", name=re.compile(r"^Time of a push: Compute \d+ %, .* ms; Data .*; Wait "))
    expect(split).to_be_visible()
    expect(page.get_by_text("in shared memory")).to_be_visible()
    shards = page.get_by_role("region", name="Shards").get_by_role("row")
    expect(shards).to_have_count(3)
    expect(shards.nth(2)).to_contain_text("20 B")  # five numbers are one block, which is the last shard's
    expect(shards.nth(2)).to_contain_text("%")
    expect(page.get_by_text("1 server is enough: the model is so small that 1 of 2 shards holds nothing.")).to_be_visible()
    client.wait(job.id, timeout=JOB_TIMEOUT)


@pytest.mark.more
def test_logs_come_as_they_are_written_for_the_selected_process(open_page: OpenPage, client: Client) -> None:
    job = submit_slow(client, name="talkative", steps=150)
    page = open_page(f"/jobs/{job.id}/logs?role=worker&rank=1")
    log = page.get_by_role("log")
    expect(log).to_contain_text("one more step")
    expect(log).not_to_contain_text("worker-0")
    client.wait(job.id, timeout=JOB_TIMEOUT)
    expect(page.get_by_text(re.compile(r"^150 of \d+ lines"))).to_be_visible()


def test_stopping_asks_first_and_keeps_the_model(open_page: OpenPage, client: Client) -> None:
    job = submit_slow(client, name="unwanted", steps=LONG, pause=0.2)
    page = open_page(f"/jobs/{job.id}/metrics")
    expect(page.get_by_role("img", name=LOSS)).to_be_visible()
    pick_action(page, job.name, "Stop")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert client.job(job.id).status == "running"

    pick_action(page, job.name, "Stop")
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(_status(page)).to_have_attribute("data-status", "cancelled")
    page.get_by_role("tab", name="Files").click()
    expect(page.get_by_text("model.safetensors", exact=True).first).to_be_visible()


@pytest.mark.more
def test_a_job_deleted_elsewhere_says_so(open_page: OpenPage, client: Client) -> None:
    job = submit_slow(client, name="short-lived", steps=10)
    page = open_page(f"/jobs/{job.id}", watched=False)  # a request that comes after the deletion gets a 404, which Chromium notes
    client.wait(job.id, timeout=JOB_TIMEOUT)
    expect(_status(page)).to_have_attribute("data-status", "succeeded")
    client.delete(job.id)
    expect(page.get_by_text("This job has been deleted")).to_be_visible()


def _status(page: Page) -> Locator:
    return page.locator("[data-status]").first


def _api_of(platform: LocalPlatform) -> psutil.Process:
    port = platform.url.rsplit(":", 1)[1]
    return next(p for p in psutil.process_iter(["cmdline"]) if {"backend", "api", port} <= set(p.info["cmdline"] or ()))

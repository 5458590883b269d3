"""What happened to a job, filtered; and its job file, as it was sent."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import expect

from gradstream import jobfile
from gradstream.client import Client, Event, Job
from tests.browser.support import WORKLOAD, OpenPage, check_looks, every_look, pick_action
from tests.support import JOB_TIMEOUT

TEXT = "# tried after the talk of Tuesday\n" + (WORKLOAD / "job.yaml").read_text()
OVERRIDES = ["name=as-sent", "stop={steps: 20}"]


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    spec = jobfile.load(TEXT, OVERRIDES)
    return client.wait(client.submit(spec, code=WORKLOAD, source=TEXT, overrides=OVERRIDES).id, timeout=JOB_TIMEOUT)


def test_events_are_filtered_and_the_filter_stands_in_the_address(open_page: OpenPage, client: Client, job: Job) -> None:
    events = client.events(job.id)
    count, rows = len(events), _rows(events)
    page = open_page(f"/jobs/{job.id}/events")
    panel = page.get_by_role("region", name="Events")
    shown = panel.get_by_role("listitem")
    expect(shown).to_have_count(rows)
    page.get_by_role("combobox", name="Kind").click()
    page.get_by_role("option", name=re.compile(r"process \(\d+\)")).click()
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Process").click()
    page.get_by_role("option", name="worker-1 (1)").click()
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("worker-1 exited")
    expect(panel).to_contain_text(f"1 of {count}")
    expect(page).to_have_url(re.compile("kind=process&process=worker-1"))
    page.get_by_role("searchbox", name="Text in the event").fill("nothing says this")
    expect(panel).to_contain_text("No event matches these filters.")
    page.reload()
    panel.get_by_role("button", name="Show all events").click()
    expect(shown).to_have_count(rows)
    expect(page).to_have_url(re.compile("/events$"))


@pytest.mark.more
def test_checkpoints_do_not_push_what_happened_out_of_sight(open_page: OpenPage, client: Client) -> None:
    job = client.submit(
        jobfile.load(TEXT, ["name=often-checkpoint", "stop={steps: 100000}", "checkpoint={every: 0.5}"]), code=WORKLOAD
    )
    page = open_page(f"/jobs/{job.id}/events")
    shown = page.get_by_role("region", name="Events").get_by_role("listitem")
    more = page.get_by_role("button", name=re.compile(r"^Show \d+ more like it, since"))
    expect(more.first).to_be_visible()
    client.stop(job.id)
    client.wait(job.id, timeout=JOB_TIMEOUT)
    events = client.events(job.id)
    expect(shown).to_have_count(_rows(events))
    expect(shown.filter(has_text="running: All processes run.")).to_be_in_viewport()
    for _ in range(more.count()):
        more.first.focus()
        page.keyboard.press("Enter")
    expect(shown).to_have_count(len(events))
    expect(page.get_by_role("button", name="more like it").first).to_have_attribute("aria-expanded", "true")


def test_the_job_file_is_shown_downloaded_and_cloned_as_it_was_sent(open_page: OpenPage, job: Job, tmp_path: Path) -> None:
    page = open_page(f"/jobs/{job.id}/config")
    text = page.get_by_label("Job file", exact=True).locator("visible=true").last
    expect(text).to_contain_text("tried after the talk of Tuesday")
    expect(page.get_by_text("Overrides at submission")).to_contain_text("stop={steps: 20}")
    with page.expect_download() as started:
        page.get_by_role("button", name="Download the job file").click()
    started.value.save_as(tmp_path / "job.yaml")
    assert started.value.suggested_filename == "as-sent.yaml"
    assert (tmp_path / "job.yaml").read_text() == TEXT
    page.get_by_text("In full").click()
    expect(text).to_contain_text("retries: 3")
    page.goto(f"/jobs/new?from={job.id}")
    cloned = page.get_by_role("textbox", name="Job file as YAML")
    expect(cloned).to_have_value(re.compile("^# tried after the talk of Tuesday\n"))
    said = yaml.safe_load(cloned.input_value())
    assert (said["name"], said["stop"]) == ("as-sent-2", {"steps": 20})


@pytest.mark.more
def test_a_new_job_continues_from_the_model_of_another(open_page: OpenPage, client: Client, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}")
    pick_action(page, job.name, "Continue from its final model")
    written = page.get_by_role("textbox", name="Job file as YAML")
    expect(written).to_have_value(re.compile("^# tried after the talk of Tuesday\n"))
    assert yaml.safe_load(written.input_value())["start_from"] == {"job": str(job.id), "checkpoint": "final"}
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text(re.compile("Starts from model.safetensors, of as-sent"))).to_be_visible()
    started = client.job(page.url.rsplit("/", 1)[1])
    assert started.started_from
    assert (started.started_from.job, started.started_from.file) == (job.id, "model.safetensors")
    client.wait(started.id, timeout=JOB_TIMEOUT)


def _rows(events: list[Event]) -> int:
    """As many as are listed at first: three or more that say the same but for their numbers stand as one."""
    alike = [len(list(run)) for _, run in groupby(events, lambda event: (event.kind, re.sub(r"\d+", "#", event.message)))]
    return sum(1 if length >= 3 else length for length in alike)


@pytest.mark.few(1)
@every_look
@pytest.mark.parametrize("path", ["events", "events?about=nothing", "config"])
def test_looks(path: str, width: int, scheme: str, look_at: OpenPage, job: Job) -> None:
    page = look_at(f"/jobs/{job.id}/{path}", width=width, scheme=scheme)
    page.get_by_role("tabpanel").wait_for()
    check_looks(page, f"{re.sub(r'[^a-z]+', '-', path)}-{width}-{scheme}")

"""What a page says where there is nothing to see, or no longer: of jobs that failed, and of those that are not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import OpenPage, check_looks, every_look, submit_slow
from tests.support import JOB_TIMEOUT

USERLAND = Path(__file__).parents[1] / "userland"
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def failed(client: Client) -> Job:
    """Its first mini-batch fails, a worker's or the evaluator's: nothing is pushed, and a traceback is written."""
    job = client.wait(submit_slow(client, name="no-such-pause", pause=-1.0).id, timeout=JOB_TIMEOUT)
    assert job.status == "failed"
    return job


@pytest.mark.few(1)
@pytest.mark.parametrize("address", [NOBODY, "half-an-id"])
def test_a_job_that_is_not_there_has_a_heading_and_a_way_back(address: str, open_page: OpenPage) -> None:
    page = open_page(f"/jobs/{address}/metrics", watched=False)
    expect(page.get_by_role("heading", name="No such job", level=1)).to_be_visible()
    expect(page).to_have_title(re.compile("No such job"))
    expect(page.get_by_text(f"There is no job {address}")).to_be_visible()
    page.get_by_role("link", name="To the list of jobs", exact=True).click()
    expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()


@pytest.mark.more
def test_a_failed_job_shows_what_its_process_wrote_last(open_page: OpenPage, client: Client, failed: Job) -> None:
    process = next(event.data["process"] for event in client.events(failed.id) if "log_tail" in event.data)
    page = open_page(f"/jobs/{failed.id}")
    alert = page.get_by_role("alert").filter(has_text="sleep length must be non-negative")
    expect(alert.get_by_text(f"Last output of {process}", exact=True)).to_be_visible()
    expect(alert.locator("pre")).to_be_visible()
    expect(alert.locator("pre")).to_contain_text(re.compile(r"Traceback.*ValueError: sleep length must be non-negative", re.DOTALL))
    alert.get_by_role("link", name=f"Full log of {process}").click()
    role, _, rank = process.partition("-")
    expect(page).to_have_url(re.compile(f"/logs\\?role={role}" + (f"&rank={rank}$" if rank else "$")))
    expect(page.get_by_role("log")).to_contain_text("Traceback")
    expect(alert.locator("pre")).to_be_hidden()  # the tab shows it
    alert.get_by_text(f"Last output of {process}", exact=True).click()
    expect(alert.locator("pre")).to_be_visible()


def test_an_alert_of_an_ended_job_is_in_the_past(open_page: OpenPage, client: Client) -> None:
    fields = {
        "name": "nan-score",
        "workload": {"entrypoint": "steady:Steady", "args": {"breaks": "score"}},
        "strategy": {"name": "async", "lr": 0.01},
        "batch_size": 8,
        "roles": {"worker": {"count": 1, "device": "cpu"}, "server": {"count": 1}},
        "stop": {"epochs": 1},
    }
    job = client.wait(client.submit(JobSpec.model_validate(fields), code=USERLAND).id, timeout=JOB_TIMEOUT)
    alert = open_page(f"/jobs/{job.id}").get_by_role("alert")
    expect(alert).to_contain_text("eval/ratio was not a finite number")
    expect(alert).to_contain_text("Such a value is stored as null, and reaches no target.")


@pytest.mark.more
def test_what_an_ended_job_never_had_is_not_said_to_come_yet(open_page: OpenPage, failed: Job) -> None:
    said = {
        "": "Nothing has been pushed: the job failed first.",
        "/staleness": "No push has been applied: the job failed first.",
        "/files": "No checkpoint has been made: the job failed first.",
    }
    for tab, sentence in said.items():
        page = open_page(f"/jobs/{failed.id}{tab}")
        expect(page.get_by_role("tabpanel").get_by_text(sentence).first).to_be_visible()
        expect(page.get_by_text(" yet")).to_have_count(0)


def test_what_only_programs_call_so_is_not_said_to_people(open_page: OpenPage, failed: Job) -> None:
    events = open_page(f"/jobs/{failed.id}/events").get_by_role("region", name="Events")
    exits = events.get_by_role("listitem").filter(has_text=re.compile(r"(worker-\d|evaluator) exited, user error"))
    expect(exits.first).to_be_visible()
    expect(events).to_contain_text("node ")
    expect(events).not_to_contain_text(re.compile("user_error|user:|node:"))


@pytest.mark.more
@every_look
def test_a_failed_job_looks_well(width: int, scheme: str, look_at: OpenPage, failed: Job) -> None:
    page = look_at(f"/jobs/{failed.id}", width=width, scheme=scheme)
    expect(page.get_by_text("Last output of")).to_be_visible()
    expect(page.get_by_role("tabpanel").get_by_text("the job failed first").first).to_be_visible()
    check_looks(page, f"job-failed-{width}-{scheme}")

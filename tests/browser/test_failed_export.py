"""An export that a server could not store, in the tab Files: a file of the platform lies where the folder of exports should be."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from gradstream.client import Client, Job
from gradstream.local.platform import LocalPlatform
from gradstream.spec import JobSpec
from tests.browser.support import OpenPage, check_looks, every_look
from tests.browser.test_tables import USERLAND
from tests.support import JOB_TIMEOUT, eventually


@pytest.fixture(scope="module")
def job(client: Client, platform: LocalPlatform) -> Iterator[Job]:
    """A job whose second export fails."""
    given = {
        "name": "export-fails",
        "workload": {"entrypoint": "planted_clicks:Clicks"},
        "strategy": {"name": "async", "lr": 0.05},
        "roles": {"worker": {"count": 1, "device": "cpu"}, "server": {"count": 2}},
        "batch_size": 32,
        "tables": {"default": {"rule": {"name": "adagrad", "lr": 0.05}}},
        "stop": {"never": True},
        "export": {"every": "15m"},
    }
    job = client.submit(JobSpec.model_validate(given), code=USERLAND)
    eventually(lambda: client.job(job.id).progress.samples, "the first samples")
    client.export(job)
    folder = platform.folder.path / "files" / "jobs" / str(job.id) / "1" / "exports"
    folder.rename(folder.with_name("kept"))
    folder.touch()
    client.export(job, wait=False)
    eventually(lambda: client.exports(job)[0].state == "failed", "an export that fails", timeout=240)  # servers repeat for 120 s
    yield job
    folder.unlink()
    folder.with_name("kept").rename(folder)
    client.stop(job)
    client.wait(job, timeout=JOB_TIMEOUT)


@pytest.mark.long  # a server repeats for 120 s
@every_look
def test_it_says_what_failed_and_what_stays_valid(width: int, scheme: str, look_at: OpenPage, client: Client, job: Job) -> None:
    page = look_at(f"/jobs/{job.id}/files", width=width, scheme=scheme)
    failed = page.get_by_role("group", name="Exports").get_by_role("row").filter(has_text="failed: a server could not store").first
    expect(failed).to_contain_text("Export 1 stays valid for readers; the next one has all changes")
    expect(page.get_by_text("could not store its part of").first).to_be_visible()
    check_looks(page, f"failed-export-{width}-{scheme}")
    failed.get_by_role("link", name="Logs of the servers with the reason").click()
    expect(page.get_by_role("log")).to_contain_text(re.compile(r"PUT /files/exports/\d+/shard-\d\.\S+: status 500; trying again"))

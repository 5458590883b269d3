"""A new job that continues from another one: the menu of a job's page offers the models that the job has."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import WORKLOAD, OpenPage, check_looks, every_look, slow_spec
from tests.support import JOB_TIMEOUT, eventually


def _run(client: Client, name: str, checkpoint_every: float) -> Job:
    """Submit a job that trains until it is stopped."""
    given = slow_spec(name=name, steps=100_000).model_dump(mode="json", exclude_none=True)
    job = client.submit(JobSpec.model_validate({**given, "checkpoint": {"every": checkpoint_every}}), code=WORKLOAD)
    eventually(lambda: client.job(job.id).progress.version > 10, f"{name} trains")
    return job


@pytest.fixture(scope="module")
def training(client: Client) -> Iterator[Job]:
    """A job with checkpoints and without a model."""
    job = _run(client, "goes-on", 1)
    eventually(lambda: client.events(job.id, kinds=["checkpoint"]), "a checkpoint")
    yield job
    client.stop(job.id)
    client.wait(job.id, timeout=JOB_TIMEOUT)


def _open_menu(page: Page, job: Job) -> tuple[Locator, Locator]:
    """Return its items for the final model and the last checkpoint."""
    page.get_by_role("button", name=f"Actions for {job.name}", exact=True).press("Enter")
    expect(page.get_by_role("menu")).not_to_contain_text("Loading")
    return page.get_by_role("menuitem", name="its final model"), page.get_by_role("menuitem", name="its last checkpoint")


@pytest.mark.more
def test_the_menu_offers_a_checkpoint_once_the_job_has_one(open_page: OpenPage, client: Client) -> None:
    job = _run(client, "continued", 3600)
    page = open_page(f"/jobs/{job.id}")
    final, last = _open_menu(page, job)
    expect(final).to_have_attribute("aria-disabled", "true")
    expect(final).to_contain_text("The job stores it when training ends")
    expect(last).to_contain_text("The job has no checkpoint yet")
    last.focus()
    page.keyboard.press("Enter")
    expect(last).to_be_focused()
    client.stop(job.id)
    client.wait(job.id, timeout=JOB_TIMEOUT)
    expect(last).to_contain_text("At the end of attempt 1, ")
    expect(final).to_contain_text("model.safetensors, ")
    last.press("Enter")
    written = page.get_by_role("textbox", name="Job file as YAML")
    expect(written).not_to_have_value("")
    assert yaml.safe_load(written.input_value())["start_from"] == {"job": str(job.id), "checkpoint": "last"}


@pytest.mark.more
def test_a_new_job_continues_from_a_checkpoint_that_the_tab_files_lists(open_page: OpenPage, client: Client) -> None:
    job = _run(client, "numbered", 1)
    eventually(lambda: len(client.events(job.id, kinds=["checkpoint"])) > 1, "two checkpoints")
    client.stop(job.id)
    client.wait(job.id, timeout=JOB_TIMEOUT)
    page = open_page(f"/jobs/{job.id}/files")
    older = page.get_by_role("region", name="Checkpoints").get_by_role("button", name=re.compile(r"^Checkpoint \d+ of attempt 1"))
    number = int(older.inner_text().split()[1])
    older.press("Enter")
    link = page.get_by_role("link", name=f"Continue from this checkpoint: Checkpoint {number} of attempt 1")
    expect(link).to_be_visible()
    check_looks(page, "continue-files")
    link.press("Enter")
    written = page.get_by_role("textbox", name="Job file as YAML")
    expect(written).not_to_have_value("")
    assert yaml.safe_load(written.input_value())["start_from"] == {"job": str(job.id), "checkpoint": number, "attempt": 1}
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text(f"Starts from checkpoint {number} of attempt 1, version ")).to_be_visible()
    started = page.url.rsplit("/", 1)[1]
    eventually(lambda: client.job(started).progress.version > 0, "it trains from there")
    client.stop(started)


@pytest.mark.more
@every_look
def test_looks(width: int, scheme: str, look_at: OpenPage, training: Job) -> None:
    page = look_at(f"/jobs/{training.id}", width=width, scheme=scheme)
    final, last = _open_menu(page, training)
    expect(final).to_have_attribute("aria-disabled", "true")
    expect(last).not_to_have_attribute("aria-disabled", "true")
    check_looks(page, f"continue-{width}-{scheme}", full_page=False)

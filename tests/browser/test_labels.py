"""Tags, notes, names and archived jobs on the page: on one job, and on several of the list."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from gradstream.client import Client, Job
from tests.browser.support import OpenPage, check_looks, every_look, still_box, submit_slow
from tests.support import JOB_TIMEOUT

NOTE = "Before the new schedule.\nSee label-1."


@pytest.fixture(scope="module")
def ended(client: Client) -> Iterator[list[Job]]:
    """Three jobs that were cancelled, named label-0 to label-2."""
    jobs = [submit_slow(client, name=f"label-{n}", steps=100_000, pause=0.5) for n in range(3)]
    for job in jobs:
        client.stop(job)
    yield [client.wait(job, timeout=JOB_TIMEOUT) for job in jobs]
    for job in jobs:
        client.delete(job)


@pytest.fixture(autouse=True)
def plain(client: Client, ended: list[Job]) -> None:
    for n, job in enumerate(ended):
        client.edit(job, name=f"label-{n}", tags=[], note="", archived=False)


def add_tag(page: Page, tag: str) -> None:
    page.get_by_placeholder("Type a tag, then press Enter").fill(tag)
    page.keyboard.press("Enter")


def test_a_job_gets_a_name_tags_and_a_note_and_its_tag_leads_to_the_list(
    open_page: OpenPage, client: Client, ended: list[Job]
) -> None:
    page = open_page(f"/jobs/{ended[0].id}")
    page.get_by_role("button", name="Edit name, tags and note").click()
    form = page.get_by_role("dialog", name="Name, tags and note")
    form.get_by_role("textbox", name="Name").fill("Not a name")
    expect(form.get_by_text("Begin and end with a letter")).to_be_visible()
    expect(form.get_by_role("button", name="Save")).to_be_disabled()
    form.get_by_role("textbox", name="Name").fill("renamed-label")
    add_tag(page, "base line")
    add_tag(page, "nightly")
    form.get_by_role("textbox", name="Note").fill(NOTE)
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    expect(page.get_by_role("heading", name="renamed-label")).to_be_visible()
    expect(page.get_by_text("Before the new schedule.")).to_be_visible()
    seen = client.job(ended[0].id)
    assert (seen.name, seen.tags, seen.note) == (
        "renamed-label",
        ["base line", "nightly"],
        "Before the new schedule.\nSee label-1.",
    )
    page.get_by_role("link", name="base line").click()
    expect(page).to_have_url(re.compile(r"/jobs\?tag=base\+line$"))
    expect(page.get_by_role("row", name="renamed-label")).to_contain_text("nightly")


@pytest.mark.more
def test_several_jobs_are_tagged_found_and_archived(open_page: OpenPage, client: Client, ended: list[Job]) -> None:
    page = open_page("/jobs?q=label-")
    page.get_by_role("checkbox", name="Select label-0").click()
    page.get_by_role("checkbox", name="Select label-1").click()
    bar = page.get_by_role("region", name="Selected jobs")
    bar.get_by_role("button", name="Tags").click()
    add_tag(page, "sweep")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(bar.get_by_role("status")).to_contain_text("2 jobs tagged sweep.")
    assert [client.job(job.id).tags for job in ended] == [["sweep"], ["sweep"], []]
    for n in (0, 1):
        expect(page.get_by_role("row", name=f"label-{n}")).to_contain_text("sweep")
    bar.get_by_role("button", name="Archive").click()
    expect(bar.get_by_role("status")).to_have_text("2 jobs archived.")
    expect(page.get_by_role("row", name="label-0")).to_have_count(0)
    expect(page.get_by_role("row", name="label-2")).to_have_count(1)
    page.get_by_role("checkbox", name="Archived (2)").click()
    expect(page).to_have_url(re.compile("archived=only"))
    expect(page.get_by_role("row", name="label-2")).to_have_count(0)
    page.get_by_role("checkbox", name="Select label-0").click()
    page.get_by_role("button", name="Unarchive").click()
    expect(page.get_by_role("row", name="label-0")).to_have_count(0)
    assert [client.job(job.id).archived for job in ended] == [False, True, False]


@pytest.mark.more
@every_look
def test_labels_look_well(width: int, scheme: str, look_at: OpenPage, client: Client, ended: list[Job]) -> None:
    client.edit(ended[0], tags=["baseline", "nightly", "a rather long tag of 40 characters here"], note="One remark.\nAnother one.")
    page = look_at(f"/jobs/{ended[0].id}", width=width, scheme=scheme)
    page.get_by_role("button", name="Edit name, tags and note").click()
    still_box(page.get_by_role("dialog", name="Name, tags and note"))
    check_looks(page, f"labels-{width}-{scheme}", full_page=False)
    page = look_at("/jobs?q=label-", width=width, scheme=scheme)
    page.get_by_role("checkbox", name="Select label-0").click()
    page.get_by_role("button", name="Tags").click()
    still_box(page.get_by_placeholder("Type a tag, then press Enter"))
    check_looks(page, f"labelled-jobs-{width}-{scheme}", full_page=False)

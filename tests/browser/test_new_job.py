"""From nothing to a trained model, through the form."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from gradstream.client import Client
from tests.browser.support import WORKLOAD, OpenPage

YAML = "Job file as YAML"


def test_an_example_is_changed_in_the_form_submitted_and_trained(open_page: OpenPage, client: Client) -> None:
    page = open_page("/jobs/new")
    page.get_by_role("button", name="Take an example").click()
    page.get_by_role("menuitem", name=re.compile("digits", re.I)).click()
    expect(page.get_by_label(YAML)).to_have_value(re.compile("digits:Digits"))

    page.get_by_label("Window").fill("0")
    expect(page.get_by_label(YAML)).to_have_value(re.compile("window: 0"))
    expect(page.get_by_label("Window")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()

    page.get_by_label("Window").fill("8")
    expect(page.get_by_text("The job file is valid")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    job_id = _submitted(page)

    assert client.wait(job_id, timeout=60).status == "succeeded"
    assert client.job(job_id).spec["strategy"]["window"] == 8
    expect(page.get_by_role("img", name=re.compile(r"^Training loss: worker 0, \d+ points.*worker 1, \d+ points"))).to_be_visible()
    page.get_by_role("tab", name="Files").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download model.safetensors").click()
    assert download.value.path().stat().st_size > 1000


def test_a_folder_is_packed_in_the_browser_and_its_job_file_fills_the_form(open_page: OpenPage, client: Client) -> None:
    page = open_page("/jobs/new")
    page.get_by_label("A folder of code").set_input_files(WORKLOAD)
    expect(page.get_by_test_id("code")).to_contain_text("slow.py")
    expect(page.get_by_label("Name *", exact=False).first).to_have_value("slow-line")
    page.get_by_label("Steps").fill("20")
    page.get_by_role("button", name="Submit").click()
    assert client.wait(_submitted(page), timeout=60).status == "succeeded"


def test_text_and_form_follow_each_other_and_the_text_may_be_broken_meanwhile(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text = page.get_by_label(YAML)
    text.fill("name: mine # a comment\nstrategy: {name: downpour}\n")
    expect(page.get_by_label("Push every")).to_be_visible()
    expect(page.get_by_label("Push every")).to_have_attribute("placeholder", "1")

    text.fill("name: [")
    expect(page.get_by_text("The job file cannot be read").first).to_be_visible()
    text.fill("name: mine # a comment\nstrategy: {name: downpour}\n")
    page.get_by_label("Push every").fill("4")
    expect(text).to_have_value(re.compile(r"mine # a comment\nstrategy: \{name: downpour, n_push: 4\}"))


def test_a_misspelt_key_is_named_with_its_place(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("window"))
    text.fill(text.input_value().replace("window", "windw"))
    expect(page.get_by_text(re.compile("did you mean", re.I))).to_be_visible()
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()


def test_a_job_file_over_a_known_limit_is_told_so_before_and_after_it_is_submitted(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("window"))
    heavy = "{name: async, lr: 0.01}\noptimizer: {name: sgd, momentum: 0.9}"
    text.fill(text.input_value().replace("{name: adag, window: 4, lr: 0.3}", heavy))
    expect(page.get_by_text("It is over a known limit")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="optimizer.momentum")).to_contain_text("which uses 0.4")
    page.get_by_role("button", name="Submit").click()
    _submitted(page)
    page.get_by_role("tab", name="Config").click()
    expect(page.get_by_role("alert").filter(has_text="Over a known limit")).to_contain_text("optimizer.momentum")


def _submitted(page: Page) -> str:
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))
    return page.url.rsplit("/", 1)[1]

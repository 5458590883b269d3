"""Every kind of field in the form writes into the job file what was meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from gradstream.strategies import STRATEGIES
from tests.browser.support import SCREENSHOTS, OpenPage

YAML = "Job file as YAML"


def wrote(page: Page, words: str) -> None:
    expect(page.get_by_label(YAML)).to_have_value(re.compile(words))


def written(page: Page, strategy: str, gate: str = "") -> None:
    code = 'workload: {entrypoint: "digits:Digits"}\nstop: {epochs: 1}\n'
    page.get_by_label(YAML).fill(f"name: mine\n{code}strategy: {{name: {strategy}}}\n{gate}")


@pytest.mark.more
def test_a_strategy_is_found_by_the_words_of_its_summary(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    chooser = page.get_by_role("combobox", name="Strategy")
    chooser.click()
    expect(page.get_by_role("option")).to_have_count(len(STRATEGIES))
    chooser.fill("spring")
    expect(page.get_by_role("option")).to_have_count(1)
    page.get_by_role("option").click()
    wrote(page, r"name: easgd")


@pytest.mark.more
def test_a_setting_without_a_value_is_left_out_and_one_that_is_null_is_written(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    written(page, "easgd")
    page.get_by_label("Elasticity (alpha)").fill("0.05")
    wrote(page, r"\{name: easgd, alpha: 0\.05\}")
    page.get_by_label("Elasticity (alpha)").fill("")
    wrote(page, r"\{name: easgd\}")
    written(page, "local_sgd")
    page.get_by_role("checkbox", name="No window").check()
    wrote(page, r"\{name: local_sgd, window: null\}")
    expect(page.get_by_label("window", exact=True)).to_be_disabled()
    expect(page.get_by_text("The job file is valid")).to_be_visible()
    page.get_by_role("checkbox", name="No window").uncheck()
    wrote(page, r"\{name: local_sgd\}")


@pytest.mark.more
def test_an_average_is_a_number_or_a_word(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    written(page, "async")
    page.get_by_role("button", name="More settings").click()
    average = page.get_by_role("combobox", name="Average of the center")
    average.press_sequentially("0.001")
    wrote(page, r"average: 0\.001")
    expect(average).to_have_value("0.001")
    average.fill("")
    average.click()
    page.get_by_role("option", name="uniform").click()
    wrote(page, "average: uniform")
    expect(page.get_by_text("The job file is valid")).to_be_visible()


@pytest.mark.more
def test_options_of_a_mode_stand_there_in_that_mode_only(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    written(page, "adag", "gate: {ssp: 3}\n")
    expect(page.get_by_label("Bound")).to_have_value("3")
    expect(page.get_by_label("Quorum")).to_have_count(0)
    written(page, "adag", "gate: bsp\n")
    expect(page.get_by_label("Quorum")).to_be_visible()
    expect(page.get_by_label("Bound")).to_have_count(0)
    written(page, "dc_asgd")
    expect(page.get_by_label("Memory (decay)")).to_have_count(0)
    page.get_by_role("switch", name="Adaptive").check()
    expect(page.get_by_label("Memory (decay)")).to_be_visible()


@pytest.mark.more
def test_a_schedule_is_selected_and_says_what_it_needs(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    written(page, "async")
    page.get_by_role("button", name="More settings").click()
    page.get_by_role("combobox", name="Schedule").click()
    page.get_by_role("option", name="cosine").click()
    wrote(page, r"schedule:\n  name: cosine\n")
    page.get_by_label("Falls over").fill("9000")
    page.get_by_label("Warm-up").fill("500")
    page.get_by_label("Ensemble members").fill("3")
    wrote(page, r"over: 9000\n  warmup: 500\nmembers: 3\n")
    expect(page.get_by_text("The job file is valid")).to_be_visible()


@pytest.mark.more
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_the_form_fits_into_the_window(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page("/jobs/new?example=digits", width=width, scheme=scheme)
    written(page, "local_sgd", "gate: {mode: bsp, quorum: 2}\nschedule: {name: cosine, over: 9000}\nevaluate: {average: uniform}\n")
    page.get_by_role("button", name="More settings").click()
    expect(page.get_by_role("combobox", name="Average of the center")).to_be_visible()
    page.get_by_role("combobox", name="Strategy").click()
    expect(page.get_by_role("option").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"chooser-{width}-{scheme}.png")
        page.keyboard.press("Escape")
        page.screenshot(path=Path(SCREENSHOTS) / f"fields-{width}-{scheme}.png", full_page=True)


@pytest.mark.more
def test_groups_of_parameters_are_added_and_removed(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    written(page, "async", "optimizer: {name: muon}\n")
    page.get_by_role("button", name="More settings").click()
    page.get_by_role("button", name="Add to Groups").click()
    page.get_by_label("Match").first.fill("*.bias")
    page.get_by_label("Lr factor").first.fill("0.5")
    wrote(page, r"match: \"?\*\.bias")
    wrote(page, r"lr_factor: 0\.5")
    expect(page.get_by_text("The job file is valid")).to_be_visible()
    page.get_by_role("button", name="Remove /optimizer/groups/0").click()
    expect(page.get_by_label(YAML)).not_to_have_value(re.compile("groups"))


def test_the_job_file_is_completed_by_keyboard(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text = page.get_by_label(YAML)
    text.fill("name: mine\n")
    text.press_sequentially("strat")
    options = page.get_by_role("listbox", name="Completions").get_by_role("option")
    expect(options).to_have_text([re.compile("^strategy")])
    text.press("Escape")
    expect(options).to_have_count(0)
    text.fill("name: mine\nstrategy: {name: ")
    text.press("Control+Space")
    expect(options).to_have_count(len(STRATEGIES))
    text.press_sequentially("eas")
    expect(options).to_have_text([re.compile("^easgd")])
    text.press("Enter")
    expect(text).to_have_value("name: mine\nstrategy: {name: easgd")

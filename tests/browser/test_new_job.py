"""From nothing to a trained model, through the form."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page, expect

from gradstream.client import Client
from tests.browser.support import WORKLOAD, OpenPage, check_looks, every_look, still_box, submit_slow
from tests.support import JOB_TIMEOUT

YAML = "Job file as YAML"
LINES = "Problems by line"
ROW = ("epochs", "steps", "checkpoint every", "seed")


def test_an_example_is_changed_in_the_form_submitted_and_trained(open_page: OpenPage, client: Client) -> None:
    page = open_page("/jobs/new")
    page.get_by_role("button", name="Use an example").click()
    page.get_by_role("menuitem", name="Handwritten digits", exact=True).click()
    expect(page.get_by_label(YAML)).to_have_value(re.compile("digits:Digits"))

    page.get_by_label("Window").fill("0")
    expect(page.get_by_label(YAML)).to_have_value(re.compile("window: 0"))
    expect(page.get_by_label("Window")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()

    page.get_by_label("Window").fill("8")
    expect(page.get_by_text("The job file is valid")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    job_id = _submitted(page)

    assert client.wait(job_id, timeout=JOB_TIMEOUT).status == "succeeded"
    assert client.job(job_id).spec["strategy"]["window"] == 8
    page.get_by_role("tab", name="Metrics").click()
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
    assert client.wait(_submitted(page), timeout=JOB_TIMEOUT).status == "succeeded"


CIRCLE = """from typing import Literal
from gradstream import Workload

class Circle(Workload):
    hidden: int = 32  # units of the hidden layer
    activation: Literal["relu", "tanh"] = "relu"
    bias: bool = True
    sizes: list[int] = [1, 2]
    radius: float
    def model(self): ...
    def dataset(self, split): ...
    def loss(self, model, batch): ...
"""


@pytest.mark.more
def test_nothing_is_green_before_there_is_code_and_the_code_names_its_workload(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("/jobs/new")
    status, submit = page.get_by_role("status"), page.get_by_role("button", name=re.compile("submit", re.I))
    expect(page.get_by_text("Select the folder with your code.")).to_be_visible()
    expect(submit).to_be_disabled()
    expect(page.get_by_test_id("plan")).to_have_count(0)

    folder = tmp_path / "lab"
    folder.mkdir()
    (folder / "lab.py").write_text(CIRCLE)
    (folder / ".env").write_text("SECRET=1")
    page.get_by_label("A folder of code").set_input_files(folder)
    expect(page.get_by_label("Entrypoint")).to_have_value("lab:Circle")
    expect(page.get_by_test_id("left-out")).to_contain_text(".env")
    expect(page.get_by_label("hidden", exact=True)).to_have_attribute("placeholder", "32")
    expect(page.get_by_text("missing: Circle.radius has no default").first).to_be_visible()
    expect(submit).to_be_disabled()
    arguments = page.get_by_role("group", name="Code")
    arguments.get_by_label("radius").fill("0.8")
    expect(page.get_by_label(YAML)).to_have_value(re.compile(r"radius: 0\.8"))
    expect(page.get_by_text("units of the hidden layer (default 32)")).to_be_visible()
    arguments.get_by_label("activation").click()
    page.get_by_role("option", name="tanh").click()
    arguments.get_by_label("bias").click()
    expect(page.get_by_label(YAML)).to_have_value(re.compile(r"activation: tanh\n\s+bias: false"))
    expect(page.get_by_label("Value of sizes")).to_have_attribute("placeholder", "[ 1, 2 ]")
    expect(status.filter(has_text="The job file is valid and matches its code.")).to_be_visible()
    expect(page.get_by_test_id("plan")).to_contain_text("processes would start")
    expect(submit).to_be_enabled()

    page.get_by_label("Entrypoint").fill("lab:Cirkle")
    expect(page.get_by_text("there is no class 'Cirkle' in lab.py; did you mean 'Circle'?")).to_have_count(1)
    expect(page.get_by_label("Entrypoint")).to_have_attribute("aria-invalid", "true")
    expect(submit).to_be_disabled()
    page.get_by_role("group", name="Workload classes in the code").get_by_role("button", name="lab:Circle").click()
    expect(page.get_by_label("Entrypoint")).to_have_value("lab:Circle")
    expect(submit).to_be_enabled()


def test_classes_of_the_code_are_offered_and_files_that_make_no_bundle_cannot_be_submitted(
    open_page: OpenPage, tmp_path: Path
) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    (folder / "lab.py").write_text(f"{CIRCLE.replace('radius: float', 'radius: float = 1.0')}\nclass Square(Circle):\n    pass\n")
    page = open_page("/jobs/new")
    page.get_by_label("A folder of code").set_input_files(folder)
    classes = page.get_by_role("group", name="Workload classes in the code")
    classes.get_by_role("button", name="lab:Square").click()
    expect(page.get_by_label("Entrypoint")).to_have_value("lab:Square")
    expect(classes.get_by_role("button", pressed=True)).to_have_text("lab:Square")
    submit = page.get_by_role("button", name="Upload and submit")
    expect(submit).to_be_enabled()

    deep = folder.joinpath(*[f"d{depth}" for depth in range(66)])
    deep.mkdir(parents=True)
    (deep / "far.py").write_text("")
    page.get_by_label("A folder of code").set_input_files(folder)
    expect(page.get_by_role("alert").filter(has_text="Invalid bundle")).to_contain_text("folders deep")
    expect(page.get_by_text("Correct the selection of files.")).to_be_visible()
    expect(page.get_by_text("The job file is valid")).to_have_count(0)
    expect(submit).to_be_disabled()


@pytest.mark.more
def test_fields_beside_each_other_are_in_line_and_long_lines_wrap_under_their_numbers(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("window"))
    page.get_by_role("button", name="More settings").click()
    for names in (("learning rate", "window"), ("name", "entrypoint"), ("workers", "servers", "worker device", "batch size"), ROW):
        inputs = [page.get_by_role("textbox", name=name, exact=True).or_(page.get_by_role("combobox", name=name)) for name in names]
        tops = {round(still_box(field.first)["y"]) for field in inputs}
        assert len(tops) == 1, names
    more = page.get_by_role("button", name="More about Hogwild threads")
    more.click()
    expect(page.get_by_role("button", name="Less about Hogwild threads")).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_text("whose results can be repeated")).to_be_visible()

    text.fill(f"name: mine # {'a long comment ' * 20}\nseed: x\n")
    lines = text.evaluate("area => [...area.previousElementSibling.children].map(line => line.offsetHeight)")
    assert lines[0] > 3 * lines[1]
    assert text.evaluate("area => area.scrollWidth <= area.clientWidth && area.scrollHeight <= area.clientHeight")
    assert sum(lines) + 16 <= text.evaluate("area => area.offsetHeight")


@pytest.mark.more
def test_text_and_form_follow_each_other_and_the_text_may_be_broken_meanwhile(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text = page.get_by_label(YAML)
    text.fill("name: mine # a comment\nstrategy: {name: downpour}\n")
    expect(page.get_by_label("Push every")).to_be_visible()
    expect(page.get_by_label("Push every")).to_have_attribute("placeholder", "1")

    text.fill("name: mine\nname: [")
    expect(page.get_by_text("The form shows the last readable job file")).to_be_visible()
    expect(page.get_by_label("Push every")).to_be_disabled()
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    expect(page.get_by_text("Map keys must be unique")).to_have_count(1)
    expect(page.get_by_role("list", name=LINES).get_by_role("listitem")).to_have_text("Line 2Map keys must be unique")
    expect(page.get_by_role("status")).to_contain_text("1 error to correct")
    page.get_by_role("list", name="Places to look at").get_by_role("button", name="Line 2").click()
    assert text.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)") == "name: ["
    text.fill("name: mine # a comment\nstrategy: {name: downpour}\n")
    page.get_by_label("Push every").fill("4")
    expect(text).to_have_value(re.compile(r"mine # a comment\nstrategy: \{name: downpour, n_push: 4\}"))


def test_a_misspelt_key_is_named_with_its_place(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("window"))
    text.fill(text.input_value().replace("window", "windw"))
    expect(page.get_by_text("did you mean 'window'")).to_have_count(1)
    at_its_line = page.get_by_role("list", name=LINES).get_by_role("listitem")
    expect(at_its_line).to_have_text(re.compile(r"^Line \d+unknown key 'windw'; did you mean 'window'\?$"))
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    page.get_by_role("button", name=re.compile(r"^Line \d+$")).click()
    line = text.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)")
    assert "windw" in line
    assert "\n" not in line

    page.get_by_label("Batch size").fill("40")  # the form is used now
    in_the_form = page.get_by_role("group", name="Algorithm").get_by_role("alert")
    expect(in_the_form).to_contain_text("did you mean 'window'")
    expect(page.get_by_text("did you mean 'window'")).to_have_count(1)
    expect(page.get_by_role("list", name=LINES)).to_have_count(0)


@pytest.mark.more
def test_the_submit_panel_counts_mistakes_and_leads_to_their_fields(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("window"))
    text.fill(text.input_value() + "timeout: -3\n")
    places = page.get_by_role("list", name="Places to look at")
    places.get_by_role("button", name="timeout").click()
    assert "timeout" in text.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)")
    page.get_by_label("Window").fill("0")
    expect(page.get_by_role("status")).to_contain_text("2 errors to correct")
    for path, field in (("strategy.window", "window"), ("timeout", "timeout")):
        places.get_by_role("button", name=path).click()
        expect(page.get_by_label(field, exact=True)).to_be_focused()
        expect(page.get_by_label(field, exact=True)).to_have_attribute("aria-invalid", "true")
    page.get_by_label("timeout", exact=True).fill("")
    page.get_by_label("Window").fill("4")
    expect(page.get_by_text("The job file is valid")).to_be_visible()


@pytest.mark.more
def test_a_card_selects_a_strategy_and_keeps_the_other_settings(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text, cards = page.get_by_label(YAML), page.get_by_role("group", name="Algorithms by intent")
    expect(text).to_have_value(re.compile("gate: asp"))
    expect(cards.get_by_role("button", name="adag", pressed=True)).to_be_visible()
    cards.get_by_role("button", name="Exact, like one machine").click()
    expect(text).to_have_value(re.compile(r"strategy: *(\{ *)?\n? *name: sync"))
    expect(text).not_to_have_value(re.compile("gate:"))  # sync refuses asp
    expect(text).to_have_value(re.compile(r"batch_size: 32[\s\S]*seed: 1"))
    expect(cards.get_by_role("button", pressed=True)).to_have_text(["Exact, like one machine", "sync"])
    expect(page.get_by_text("The job file is valid")).to_be_visible()
    cards.get_by_role("button", name="local_sgd").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("checkbox", name="No window")).to_be_visible()
    cards.get_by_role("button", name="One worker, the baseline").click()
    expect(page.get_by_role("textbox", name="workers", exact=True)).to_have_value("1")
    expect(page.get_by_text("The job file is valid")).to_be_visible()


@pytest.mark.more
def test_other_settings_are_folded_counted_and_found(open_page: OpenPage) -> None:
    page = open_page("/jobs/new")
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("adag"))
    fold = page.get_by_role("button", name="More settings")
    expect(fold).to_contain_text("all at their defaults")
    expect(page.get_by_label("threads", exact=True)).to_have_count(0)
    text.fill(text.input_value() + "priority: 70\ncodec: {name: int8}\nroles: {worker: {count: 2, threads: 2}}\n")
    expect(fold).to_contain_text("3 settings changed")
    fold.click()
    expect(page.get_by_label("threads", exact=True)).to_have_value("2")
    page.get_by_label("Find a setting").fill("threads worker")
    expect(page.get_by_label("threads", exact=True)).to_be_visible()
    expect(page.get_by_label("priority", exact=True)).to_have_count(0)
    page.get_by_label("Find a setting").fill("no such setting")
    expect(page.get_by_role("group", name="More settings").get_by_text("No match")).to_be_visible()


@pytest.mark.more
def test_a_job_file_over_a_known_limit_is_told_so_before_and_after_it_is_submitted(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("window"))
    heavy = "{name: async, lr: 0.01}\noptimizer: {name: sgd, momentum: 0.9}"
    text.fill(text.input_value().replace("{name: adag, window: 4, lr: 0.3}", heavy))
    expect(page.get_by_text("1 warning")).to_be_visible()
    expect(page.get_by_role("list", name="Places to look at")).to_contain_text("optimizer.momentum")
    expect(page.get_by_role("list", name=LINES)).to_contain_text("which uses 0.4")
    page.get_by_role("button", name="Submit").click()
    _submitted(page)
    page.get_by_role("tab", name="Config").click()
    expect(page.get_by_role("alert").filter(has_text="settings exceed known limits")).to_contain_text("optimizer.momentum")


@pytest.mark.more
def test_what_the_server_refuses_stands_at_its_field_and_nothing_is_lost(open_page: OpenPage, client: Client) -> None:
    page = open_page("/jobs/new?example=digits", watched=False)
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("digits:Digits"))
    typed = text.input_value().replace("digits:Digits", "elsewhere:Digits").replace("{epochs:", "{steps: 5, epochs:") + "# mine\n"
    text.fill(typed)
    expect(page.get_by_label("Entrypoint")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("list", name=LINES)).to_contain_text(
        "the code has no module 'elsewhere'; did you mean 'digits:Digits'?"
    )
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    expect(text).to_have_value(typed)

    text.fill(typed.replace("elsewhere:", "digits:"))
    page.route("**/api/v1/jobs", lambda route: route.abort())
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("status")).to_contain_text("Failed to fetch")
    page.unroute("**/api/v1/jobs")
    expect(text).to_have_value(typed.replace("elsewhere:", "digits:"))
    page.get_by_role("button", name="Submit").click()
    client.stop(_submitted(page))


@pytest.mark.more
def test_a_draft_outlives_a_reload_until_it_is_submitted_or_begun_anew(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("digits:Digits"))
    first = text.input_value()
    page.get_by_label("Batch size").fill("48")
    expect(text).to_have_value(re.compile("batch_size: 48"))
    page.reload()
    expect(text).to_have_value(re.compile("batch_size: 48"))
    expect(page.get_by_test_id("code")).to_contain_text("the example digits")
    page.get_by_role("button", name="Start over").click()
    expect(text).to_have_value(first)
    page.reload()
    expect(text).to_have_value(first)
    expect(page.get_by_role("button", name="Start over")).to_have_count(0)


@pytest.mark.more
def test_files_that_were_selected_before_a_reload_are_asked_for_again(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits", watched=False)  # the code is not what the example needs
    expect(page.get_by_label(YAML)).to_have_value(re.compile("digits:Digits"))
    page.get_by_label("A folder of code").set_input_files(WORKLOAD)
    expect(page.get_by_test_id("code")).to_contain_text("slow.py")
    page.reload()
    note = page.get_by_text("must be selected again")
    expect(note).to_be_visible()
    page.get_by_label("A folder of code").set_input_files(WORKLOAD)
    expect(page.get_by_test_id("code")).to_contain_text("slow.py")
    expect(note).to_have_count(0)


@pytest.mark.more
def test_a_dropped_folder_is_shown_before_it_is_uploaded(open_page: OpenPage, client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(WORKLOAD, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "nets").mkdir()
    for number in range(120):  # more than a browser lists at once
        (folder / "nets" / f"net_{number}.py").write_text("")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "slow.pyc").write_text("x")
    (folder / "notes.txt").write_text("mine")
    (folder / ".gradstreamignore").write_text("notes.txt\n")
    page = open_page("/jobs/new")
    _drop(page, folder)
    shown = page.get_by_test_id("code")
    expect(shown).to_contain_text("To be uploaded: 123 files")
    expect(page.get_by_test_id("left-out")).to_contain_text("notes.txt")
    expect(page.get_by_label("Name *", exact=False).first).to_have_value("slow-line")
    shown.get_by_role("button", name="Show 115 more").click()
    expect(shown).to_contain_text("nets/net_119.py")
    expect(shown).not_to_contain_text("slow.pyc")
    page.get_by_role("button", name="Upload now").click()
    expect(shown).to_contain_text("123 uploaded files")
    page.get_by_label("Steps").fill("20")
    page.get_by_role("button", name="Submit").click()
    assert client.wait(_submitted(page), timeout=JOB_TIMEOUT).status == "succeeded"


def test_a_job_is_run_again_from_its_page_with_its_code_and_a_short_job_file(open_page: OpenPage, client: Client) -> None:
    first = submit_slow(client, name="first-of-two", steps=20)
    assert client.wait(first.id, timeout=JOB_TIMEOUT).status == "succeeded"
    page = open_page(f"/jobs/{first.id}")
    page.get_by_role("link", name="Run again").click()
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("name: first-of-two-2\n"))
    assert "priority" not in text.input_value(), "defaults are left out"
    expect(page.get_by_test_id("code")).to_contain_text("the code of first-of-two")
    expect(page.get_by_test_id("plan")).to_contain_text("As measured in first-of-two, a job of the same code.")
    page.get_by_role("button", name="Submit").click()
    again = client.job(_submitted(page))
    assert (again.spec, again.bundle) == ({**first.spec, "name": "first-of-two-2"}, first.bundle)
    client.stop(again.id)


def test_the_plan_says_where_why_not_and_how_much(open_page: OpenPage) -> None:
    page = open_page("/jobs/new?example=digits")
    text, plan = page.get_by_label(YAML), page.get_by_test_id("plan")
    job = "name: planned\nworkload: {entrypoint: 'digits:Digits', args: {hidden: 77}}\nstop: {epochs: 1}\nstrategy: {name: async}\n"
    text.fill(f"{job}roles: {{worker: {{count: 2}}}}\n")
    expect(plan).to_contain_text("server-0, worker-0, worker-1, evaluator")
    expect(plan).to_contain_text("1 on average")
    expect(plan).to_contain_text("size not known")
    plan.get_by_role("button", name="Enter the model size").click()
    plan.get_by_label("Parameters").fill("1000000")
    plan.get_by_label("Time of a mini-batch (ms)").fill("10")
    plan.get_by_role("button", name="Plan with it").click()
    expect(plan).to_contain_text("1,000,000 parameters, 10 ms a mini-batch")
    expect(plan).to_contain_text(re.compile(r"sends 3\d\d MiB/s|sends 400 MB/s|sends 381"))
    expect(plan).to_contain_text("All of it stays within a machine")
    text.fill(text.input_value().replace("count: 2", "count: 9"))
    expect(plan).to_contain_text(re.compile("It would wait at place .* Needs 9 slots, and all connected machines together have 4"))
    text.fill(job.replace("async", "sync") + "roles: {worker: {count: 3}, server: {count: 0}}\n")
    expect(plan).to_contain_text("held by the workers")
    expect(plan).to_contain_text("each of its 3 workers holds a shard")
    text.fill(f"{job}roles: {{worker: {{count: 1, group: {{replicate: 2, machines: 2}}}}}}\n")
    expect(plan).to_contain_text("sends 4 MB to each other machine for a mini-batch")
    text.fill(job.replace("async", "sync") + "roles: {worker: {count: 4}}\n")
    plan.get_by_label("Parameters").fill(str(psutil.virtual_memory().total // 78))  # 21 vectors with a server, 18 without
    plan.get_by_role("button", name="Plan with it").click()
    expect(plan).to_contain_text("roles: {server: {count: 0}, worker: {count: 4}}")
    expect(plan).to_contain_text("The job fits with this line in place of the one of the same name")
    plan.get_by_label("Parameters").fill(str(10**11))
    plan.get_by_role("button", name="Plan with it").click()
    expect(plan).to_contain_text("No known change of the job file fits. The largest part is ")


@pytest.mark.more
def test_a_job_is_made_by_keyboard_alone(open_page: OpenPage, client: Client) -> None:
    page = open_page("/jobs/new")
    _tab_to(page, "Use an example")
    page.keyboard.press("Enter")
    digits = page.get_by_role("menuitem", name="Handwritten digits", exact=True)
    expect(digits).to_be_visible()
    for _ in range(10):
        page.keyboard.press("ArrowDown")
        if digits.evaluate("item => item === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_label(YAML)).to_have_value(re.compile("digits:Digits"))
    _tab_to(page, "Batch size")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("40")
    expect(page.get_by_text("The job file is valid")).to_be_visible()
    _tab_to(page, "Submit")
    page.keyboard.press("Enter")
    job = client.job(_submitted(page))
    assert job.spec["batch_size"] == 40
    client.stop(job.id)


@pytest.mark.more
@every_look
def test_the_page_is_accessible_and_fits(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page("/jobs/new?example=digits", width=width, scheme=scheme)
    text = page.get_by_label(YAML)
    expect(text).to_have_value(re.compile("digits:Digits"))
    expect(page.get_by_test_id("plan")).to_be_visible()
    check_looks(page, f"new-job-{width}-{scheme}")
    late = "strategy: {name: delayed_diloco}\npipeline: 1\n"
    text.fill(re.sub(r"strategy: .*\n", late, text.input_value()))
    expect(page.get_by_role("list", name=LINES)).to_contain_text("too late for the momentum")
    check_looks(page, f"new-job-warned-{width}-{scheme}")
    text.fill(text.input_value() + "batch_sice: 4\n")
    expect(page.get_by_role("list", name=LINES)).to_contain_text("did you mean 'batch_size'")
    check_looks(page, f"new-job-faulty-{width}-{scheme}")


def _tab_to(page: Page, name: str) -> None:
    """Press Tab until what has this name is focused."""
    wanted = "name => (document.activeElement?.labels?.[0] ?? document.activeElement)?.textContent?.toLowerCase().startsWith(name)"
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate(wanted, name.lower()):
            return
    raise AssertionError(f"no number of tabs leads to {name}")


def _drop(page: Page, folder: Path) -> None:
    """As from a file manager: the browser gets the path."""
    box = page.get_by_test_id("drop").bounding_box()
    assert box
    data = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": box["x"] + 20, "y": box["y"] + 10, "data": data})


def _submitted(page: Page) -> str:
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))
    return page.url.rsplit("/", 1)[1]

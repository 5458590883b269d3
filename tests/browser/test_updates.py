"""The panel of updates by layer, in the tab about staleness."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import OpenPage, check_looks, every_look
from tests.platforms import USERLAND


def trained(client: Client, name: str, strategy: str, **changes: Any) -> Job:
    given = {
        "name": name,
        "workload": {"entrypoint": "steady:Steady"},
        "strategy": {"name": strategy, "lr": 0.05},
        "roles": {"worker": {"count": 2, "device": "cpu"}, "server": {"count": 1}},
        "update_histograms": {"every": 1},
        "stop": {"epochs": 3},
        **changes,
    }
    ended = client.wait(client.submit(JobSpec.model_validate(given), code=USERLAND).id, timeout=240)
    assert ended.status == "succeeded", ended.message
    return ended


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    workload = {"entrypoint": "steady:Steady", "args": {"pause": 0.004, "examples": 512}}
    roles = {"worker": {"count": 3, "device": "cpu"}, "server": {"count": 1}}
    return trained(client, "updates", "async", workload=workload, roles=roles, batch_size=4)


def panel(page: Page) -> Any:
    return page.get_by_role("region", name="Updates by layer")


@pytest.mark.more
@every_look
def test_layers_have_a_map_and_norms_against_staleness(width: int, scheme: str, look_at: OpenPage, job: Job) -> None:
    page = look_at(f"/jobs/{job.id}/staleness", width=width, scheme=scheme)
    shown = panel(page)
    magnitudes = shown.get_by_role("img", name=re.compile("^Magnitude of elements against staleness, from "))
    expect(magnitudes).to_be_visible()
    expect(shown.get_by_role("img", name=re.compile("^Norm against staleness. Staleness 0: "))).to_be_visible()
    magnitudes.focus()
    magnitudes.press("ArrowRight")
    expect(shown).to_contain_text(re.compile(r"Staleness \d.*pushe?s?, median .*: .* % from"))
    magnitudes.scroll_into_view_if_needed()
    check_looks(page, f"updates-{width}-{scheme}")


def test_the_numbers_of_a_layer_and_a_worker_are_those_of_the_api(open_page: OpenPage, client: Client, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/staleness")
    shown = panel(page)
    layer = client.update_histograms(job.id).layers[-1].name
    for choice, option in (("Layer", layer), ("Worker", "worker 1")):
        shown.get_by_role("combobox", name=choice).click()
        page.get_by_role("option", name=option, exact=True).click()
    shown.get_by_role("radiogroup", name="Vectors").get_by_text("Gradients").click()
    shown.get_by_role("radiogroup", name="View of the updates").get_by_text("Table", exact=True).click()
    found = client.update_histograms(job.id, layer, what="gradient", ranks=[1])
    expect(shown).to_contain_text(f"{found.count} samples")
    rows = shown.get_by_role("region", name="Updates in numbers").get_by_role("row")
    expect(rows).to_have_count(len(found.groups) + 1)
    for row, group in enumerate(found.groups, 1):
        expect(rows.nth(row).get_by_role("cell").nth(1), f"of {group.low}").to_have_text(f"{group.count:,}")


@pytest.mark.more
def test_a_job_without_staleness_has_them_over_the_training_and_one_that_measures_none_says_how_to(
    open_page: OpenPage, client: Client
) -> None:
    sync = trained(client, "updates-sync", "sync")
    page = open_page(f"/jobs/{sync.id}/staleness")
    expect(page.get_by_role("main")).to_contain_text("under bsp, all workers wait for the round to end")
    expect(panel(page).get_by_role("img", name=re.compile("^Magnitude of elements against samples, from "))).to_be_visible()
    without = trained(client, "updates-none", "sync", update_histograms=None)
    page = open_page(f"/jobs/{without.id}/staleness")
    expect(panel(page)).to_contain_text("Set update_histograms: {every: 100}")


@pytest.mark.few(1)
@every_look
def test_the_code_tab_lists_the_parameters(width: int, scheme: str, look_at: OpenPage, client: Client, job: Job) -> None:
    page = look_at(f"/jobs/{job.id}/code", width=width, scheme=scheme)
    shown = page.get_by_role("region", name="Parameters", exact=True)
    table = client.parameters(job.id).table
    assert table
    expect(shown).to_contain_text(f"9 elements. Norms are of worker 0 after {table.step:,} mini-batches")
    rows = shown.get_by_role("region", name="Parameters of the model").get_by_role("row")
    expect(rows).to_have_count(3)
    for number, text in enumerate(("weight", "1 × 8", "8", "88.9 %", "float32", "cpu", "yes")):
        expect(rows.nth(1).get_by_role("cell").nth(number)).to_have_text(text)
    check_looks(page, f"parameters-{width}-{scheme}")

"""The tab of a job's embedding tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import OpenPage, check_looks, every_look, submit_slow
from tests.support import JOB_TIMEOUT

USERLAND = Path(__file__).parents[1] / "userland"


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    """A job that has evicted rows."""
    given = {
        "name": "clicks",
        "workload": {"entrypoint": "planted_clicks:Clicks"},
        "strategy": {"name": "async", "lr": 0.05},
        "roles": {"worker": {"count": 2, "device": "cpu"}, "server": {"count": 2}},
        "batch_size": 32,
        "tables": {"default": {"admit": {"count": 2}, "keep": {"unseen": 1}, "shrink": "500 samples"}},
        "stop": {"epochs": 4},
        "export": {"every": "1s"},
    }
    return trained(client, given)


@pytest.fixture(scope="module")
def cold_job(client: Client) -> Job:
    """A job whose tables are bounded in memory."""
    given = {
        "name": "cold",
        "workload": {"entrypoint": "planted_clicks:Clicks"},
        "strategy": {"name": "async", "lr": 0.05},
        "roles": {"worker": {"count": 1, "device": "cpu"}, "server": {"count": 1}},
        "batch_size": 32,
        "tables": {"default": {"memory": {"rows": 30}}},
        "stop": {"epochs": 2},
    }
    return trained(client, given)


def trained(client: Client, given: dict[str, Any]) -> Job:
    job = client.submit(JobSpec.model_validate(given), code=USERLAND)
    ended = client.wait(job.id, timeout=240)
    assert ended.status == "succeeded"
    return ended


@pytest.mark.few(1)
@every_look
def test_files_have_the_exports_of_a_job(width: int, scheme: str, look_at: OpenPage, client: Client, job: Job) -> None:
    page = look_at(f"/jobs/{job.id}/files", width=width, scheme=scheme)
    exports = page.get_by_role("group", name="Exports").get_by_role("row")
    committed = client.exports(job)
    expect(exports).to_have_count(len(committed))
    last = committed[0]
    expect(exports.first).to_contain_text(f"Export {last.number}, {'a base' if last.base else f'a delta on {last.after}'}")
    expect(exports.first).to_contain_text(f"version {last.version:,}, {last.rows:,} rows, {last.gone:,} gone")
    check_looks(page, f"exports-{width}-{scheme}")


@pytest.mark.more
@every_look
def test_every_row_and_every_key_of_each_server_is_accounted_for(
    width: int, scheme: str, look_at: OpenPage, client: Client, job: Job
) -> None:
    page = look_at(f"/jobs/{job.id}/tables", width=width, scheme=scheme)
    expect(page.get_by_role("tab", name="Tables")).to_have_attribute("aria-selected", "true")
    rows = page.get_by_role("region", name="Rows of each server").get_by_role("row")
    keys = page.get_by_role("region", name="Keys of pushes of each server").get_by_role("row")
    expect(rows).to_have_count(3)
    last = {name: client.metrics(job.id, names=[name]) for name in ("table/rows", "table/made", "table/evicted", "table/applied")}
    for number in range(2):
        said = {
            name: [batch.points[-1][-1] for batch in batches if batch.source == f"server-{number}"][-1]
            for name, batches in last.items()
        }
        made, alive, evicted = (f"{int(said[f'table/{name}']):,}" for name in ("made", "rows", "evicted"))
        assert said["table/evicted"] > 0
        expect(rows.nth(1 + number)).to_contain_text(f"server {number}")
        for place, shown in enumerate((made, alive, evicted), 1):
            expect(rows.nth(1 + number).get_by_role("cell").nth(place)).to_have_text(shown)
        expect(rows.nth(1 + number).get_by_role("img", name="adds up")).to_be_visible()
        expect(keys.nth(1 + number).get_by_role("cell").nth(2)).to_have_text(f"{int(said['table/applied']):,}")
    for title in ("Row staleness", "Rows deep", "Rows wide"):
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    check_looks(page, f"tables-{width}-{scheme}")


@pytest.mark.more
@every_look
def test_rows_on_disk_are_in_the_account(width: int, scheme: str, look_at: OpenPage, client: Client, cold_job: Job) -> None:
    page = look_at(f"/jobs/{cold_job.id}/tables", width=width, scheme=scheme)
    rows = page.get_by_role("region", name="Rows of each server").get_by_role("row")
    expect(rows).to_have_count(2)
    names = ("made", "rows", "cold", "evicted", "disk")
    told = {name: client.metrics(cold_job.id, names=[f"table/{name}"]) for name in names}
    last = {name: [batch.points[-1][-1] for batch in batches][-1] for name, batches in told.items()}
    assert min(last["cold"], last["disk"]) > 0
    account = last["made"], last["rows"] - last["cold"], last["cold"], last["evicted"]
    for place, shown in enumerate(account, 1):
        expect(rows.nth(1).get_by_role("cell").nth(place)).to_have_text(f"{int(shown):,}")
    expect(rows.nth(1).get_by_role("img", name="adds up")).to_be_visible()
    for title in ("Cold rows", "Disk of tables", "Rows from the disk"):
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    check_looks(page, f"cold-{width}-{scheme}")


def test_hottest_keys_and_one_key_with_the_reason_why_it_is_not_there(open_page: OpenPage, client: Client, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/tables", watched=False)  # Chromium notes the 404 of an unknown table in its console
    hottest = page.get_by_role("region", name="Hottest keys of deep").get_by_role("row")
    [deep, _] = client.tables(job).items
    expect(hottest).to_have_count(1 + len(deep.hottest))
    hot = deep.hottest[0]
    for place, shown in enumerate((hot.key, str(hot.server), f"{hot.updates:,}")):
        expect(hottest.nth(1).get_by_role("cell").nth(place)).to_have_text(shown)
    found = page.get_by_role("status", name="Found")
    hottest.nth(2).get_by_role("button", name=deep.hottest[1].key).click()
    expect(found).to_contain_text(f"deep, key {deep.hottest[1].key}")
    form = page.get_by_role("region", name="Look a key up")
    form.get_by_label("Key", exact=True).fill(hot.key)
    form.get_by_label("Table").fill("deep")
    form.get_by_role("button", name="Look up").click()
    [there] = client.look_up_key(job, int(hot.key), table="deep")
    expect(found).to_contain_text(there.message)
    assert there.export is not None
    assert there.values is not None
    expect(found).to_contain_text(f"Export {there.export.number}: version {there.export.version:,}")
    expect(page.get_by_label(f"Weights of key {hot.key} in deep")).to_contain_text(str(there.values[0]))
    form.get_by_label("Key", exact=True).fill("-5")
    form.get_by_label("Key", exact=True).press("Enter")
    expect(found).to_contain_text("No export that is kept has a row for it: no push that counted has brought it")
    expect(found).to_contain_text("The model reads zeros for it.")
    form.get_by_label("Table").fill("deeep")
    form.get_by_role("button", name="Look up").click()
    expect(form.get_by_role("alert")).to_contain_text("The job has no table 'deeep'. Did you mean 'deep'?")
    form.get_by_text("Text", exact=True).click()
    form.get_by_role("textbox", name="Text").fill("red")
    form.get_by_label("Table").fill("")
    form.get_by_role("button", name="Look up").click()
    for table in ("deep", "wide"):
        expect(found).to_contain_text(f"{table}, key {client.look_up_key(job, text='red', table=table)[0].key}")


def test_a_job_without_tables_has_no_such_tab(open_page: OpenPage, client: Client) -> None:
    dense = submit_slow(client, name="dense", steps=3)
    client.wait(dense.id, timeout=JOB_TIMEOUT)
    page = open_page(f"/jobs/{dense.id}")
    expect(page.get_by_role("tab", name="Workers")).to_be_visible()
    expect(page.get_by_role("tab", name="Tables")).to_have_count(0)

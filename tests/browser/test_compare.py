"""Jobs beside each other: what is drawn, counted and told of real jobs of several strategies; a link shows it to others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from playwright.sync_api import expect
from sqlalchemy import text
from sqlalchemy.orm import Session

from backend.jobs import service as jobs_service
from backend.metrics import service
from benchmarks.rows import engine_of, insert_jobs
from gradstream import metrics
from gradstream.client import Client, Job
from gradstream.local.platform import LocalPlatform
from gradstream.metrics import Point
from gradstream.spec import JobSpec
from tests.browser.support import SCREENSHOTS, WORKLOAD, OpenPage, check_looks, every_look, slow_spec, submit_slow
from tests.support import JOB_TIMEOUT, eventually

EVAL = re.compile("^Eval loss: ")
TIMEOUT_MS = 60_000
TARGET = 2.0


def spec(name: str, strategy: str, lr: float) -> JobSpec:
    given = slow_spec(name=name, steps=60, pause=0.01).model_dump(mode="json", exclude_none=True)
    return JobSpec.model_validate({**given, "strategy": {"name": strategy, "lr": lr}, "evaluate": {"every": 0.1}})


@pytest.fixture(scope="module")
def jobs(client: Client) -> list[Job]:
    """Of two strategies; the last of them learns next to nothing."""
    specs = [spec("c-async", "async", 0.05), spec("c-sync", "sync", 0.05), spec("c-slow", "async", 0.0001)]
    made = [client.submit(one, code=WORKLOAD) for one in specs]
    return [client.wait(job.id, timeout=JOB_TIMEOUT) for job in made]


def link(jobs: list[Job], **chosen: object) -> str:
    rest = "".join(f"&{key}={value}" for key, value in {"metric": "eval/loss", **chosen}.items())
    return f"/compare?jobs={','.join(str(job.id) for job in jobs)}{rest}"


@pytest.mark.few(1)
@every_look
@pytest.mark.parametrize("what", ["alone", "groups", "none", "one"])
def test_it_can_be_read_by_everybody(what: str, width: int, scheme: str, look_at: OpenPage, jobs: list[Job]) -> None:
    addresses = {
        "alone": link(jobs, target=TARGET),
        "groups": link(jobs, target=TARGET, group="strategy.name", x="time"),
        "none": "/compare",
        "one": link(jobs[:1]),
    }
    page = look_at(addresses[what], width=width, scheme=scheme)
    if what != "none":
        expect(page.get_by_role("img", name=EVAL)).to_be_visible(timeout=TIMEOUT_MS)
    check_looks(page, f"compare-{what}-{width}-{scheme}")


@pytest.mark.more
def test_time_to_a_target_is_what_the_server_says(open_page: OpenPage, client: Client, jobs: list[Job]) -> None:
    answer = client.targets([job.id for job in jobs], "eval/loss", at_most=TARGET)
    page = open_page(link(jobs))
    panel = page.get_by_role("region", name="Time to a target", exact=True)
    expect(panel.get_by_text("Enter a target for Eval loss above.")).to_be_visible(timeout=TIMEOUT_MS)
    panel.get_by_role("textbox", name="Target").fill(str(TARGET))
    rows = panel.get_by_role("row")
    expect(rows).to_have_count(4, timeout=TIMEOUT_MS)
    for number, item in enumerate(answer.items, start=1):
        expect(rows.nth(number)).to_contain_text(item.name)
        if item.reached:
            expect(rows.nth(number)).to_contain_text(f"{item.reached.samples:,}")
    assert answer.items[-1].reached is None
    expect(rows.nth(3)).to_contain_text("Never; best")
    assert parse_qs(urlsplit(page.url).query)["target"] == ["2"]


@pytest.mark.more
def test_a_link_shows_others_the_same(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs))
    page.get_by_role("combobox", name="Group by").click()
    page.get_by_role("option", name="strategy.name").click()
    expect(page.get_by_role("img", name=re.compile("^Eval loss: async, .*; sync, "))).to_be_visible(timeout=TIMEOUT_MS)
    page.get_by_role("combobox", name="X axis").click()
    page.get_by_role("option", name="Bytes sent").click()
    expect(page.get_by_text("No curve over bytes sent: all vectors went through shared memory")).to_be_visible(timeout=TIMEOUT_MS)
    page.get_by_role("combobox", name="X axis").click()
    page.get_by_role("option", name="Epochs").click()
    chart = page.get_by_role("region", name="Eval loss", exact=True)
    chart.get_by_role("button", name=re.compile("^sync")).click()
    page.get_by_role("switch", name="Show all").click(force=True)
    expect(page).to_have_url(re.compile("all=1"))
    asked = parse_qs(urlsplit(page.url).query)
    assert {key: asked[key] for key in ("group", "x", "hide", "all")} == {
        "group": ["strategy.name"],
        "x": ["epoch"],
        "hide": ["sync"],
        "all": ["1"],
    }
    other = open_page(page.url)
    expect(other.get_by_role("combobox", name="Group by")).to_have_value("strategy.name")
    expect(other.get_by_role("combobox", name="X axis")).to_have_value("Epochs")
    hidden = other.get_by_role("region", name="Eval loss", exact=True).get_by_role("button", name=re.compile("^sync"))
    expect(hidden).to_have_attribute("aria-pressed", "false")
    expect(other.get_by_role("row", name=re.compile("^batch_size"))).to_be_visible(timeout=TIMEOUT_MS)


def test_only_what_differs_between_the_job_files(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page(link(jobs))
    files = page.get_by_role("region", name="Job files").first
    expect(files.get_by_role("row", name=re.compile(r"^strategy\.lr 0\.05 0\.05 0\.0001"))).to_be_visible(timeout=TIMEOUT_MS)
    expect(files.get_by_role("row", name=re.compile(r"^strategy\.name async sync async"))).to_be_visible(timeout=TIMEOUT_MS)
    expect(files.get_by_role("row", name=re.compile(r"^gate\.mode asp bsp asp"))).to_be_visible()
    expect(files.get_by_role("row", name=re.compile(r"^on_worker_loss continue restart continue"))).to_be_visible()
    expect(files.get_by_role("row")).to_have_count(5)


@pytest.mark.more
def test_jobs_are_added_by_name_and_removed(open_page: OpenPage, jobs: list[Job]) -> None:
    page = open_page("/compare")
    expect(page.get_by_text("No job is selected")).to_be_visible(timeout=TIMEOUT_MS)
    for job in jobs[:2]:
        page.get_by_role("combobox", name="Add a job").fill(job.name)
        page.get_by_role("option", name=re.compile(job.name)).click()
        expect(page.get_by_role("button", name=f"Remove {job.name}")).to_be_visible(timeout=TIMEOUT_MS)
    expect(page).to_have_url(re.compile(f"jobs={jobs[0].id}%2C{jobs[1].id}"))
    expect(page.get_by_role("img", name=re.compile("^Eval loss: c-async, .*; c-sync, "))).to_be_visible(timeout=TIMEOUT_MS)
    page.get_by_role("button", name="Remove c-async").click()
    expect(page.get_by_role("img", name=re.compile("^Eval loss: c-sync, "))).to_be_visible(timeout=TIMEOUT_MS)


@pytest.mark.more
def test_what_is_not_there_is_said_and_can_be_left_out(open_page: OpenPage, jobs: list[Job]) -> None:
    address = f"/compare?jobs={jobs[0].id},{uuid4()},nonsense&metric=eval/loss"
    page = open_page(address, watched=False)  # Chromium notes the 404 in its console
    expect(page.get_by_text("2 jobs were not found")).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.get_by_role("img", name=EVAL)).to_be_visible(timeout=TIMEOUT_MS)
    page.get_by_role("button", name="Remove them from this comparison").click()
    expect(page.get_by_text("2 jobs were not found")).to_have_count(0)
    assert parse_qs(urlsplit(page.url).query)["jobs"] == [str(jobs[0].id)]


@pytest.mark.more
def test_a_job_that_runs_keeps_moving(open_page: OpenPage, client: Client, jobs: list[Job]) -> None:
    running = submit_slow(client, name="c-running", steps=100_000)
    page = open_page(f"/compare?jobs={jobs[0].id},{running.id}&metric=train/loss")
    chart = page.get_by_role("img", name=re.compile("^Training loss: .*c-running, "))
    expect(chart).to_be_visible(timeout=TIMEOUT_MS)
    before = _points(chart.get_attribute("aria-label") or "")
    eventually(lambda: _points(chart.get_attribute("aria-label") or "") > before, "more points of the job that runs")
    client.stop(running.id)
    client.wait(running.id, timeout=JOB_TIMEOUT)
    row = page.get_by_role("table", name="Compared jobs").get_by_role("row").filter(has_text="c-running")
    expect(row.locator("[data-status]")).to_have_attribute("data-status", "cancelled", timeout=TIMEOUT_MS)


def _points(label: str) -> int:
    found = re.search(r"c-running, (\d+) points", label)
    assert found, label
    return int(found[1])


@pytest.fixture(scope="module")
def fifty(platform: LocalPlatform) -> Iterator[list[str]]:
    """Jobs with a curve each, as rows and stored metrics."""
    engine = engine_of(platform.folder)
    with Session(engine) as session, session.begin():
        ids = insert_jobs(session, 50, owners=("mallory",))
        for number, id in enumerate(ids):
            points = [
                Point(metrics.EVAL_LOSS.name, -1, step, 64 * step, step, 1_763_683_200.0 + step, 2.0 / (1 + step) + number / 100)
                for step in range(40)
            ]
            service.store(session, jobs_service.lock(session, id), 1, [("evaluator.0", 0, points)])
    yield [str(id) for id in ids]
    with Session(engine) as session, session.begin():
        session.execute(text("DELETE FROM jobs WHERE user_id IN (SELECT id FROM users WHERE name = 'mallory')"))
    engine.dispose()


@pytest.mark.more
@every_look
def test_fifty_jobs_are_drawn_told_apart_and_grouped(width: int, scheme: str, open_page: OpenPage, fifty: list[str]) -> None:
    page = open_page(f"/compare?metric=eval/loss&jobs={','.join(fifty)}", width=width, scheme=scheme)
    curves = page.get_by_role("region", name="Eval loss", exact=True)
    expect(curves.get_by_role("img", name=EVAL)).to_be_visible(timeout=2 * TIMEOUT_MS)
    names = curves.get_by_role("button", pressed=True)
    expect(names).to_have_count(50, timeout=TIMEOUT_MS)
    expect(page.get_by_role("table", name="Compared jobs").get_by_role("link")).to_have_count(50)
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"compare-fifty-{width}-{scheme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    page.get_by_role("combobox", name="Group by").click()
    page.get_by_role("option", name="strategy.name").click()
    expect(names).to_have_count(4, timeout=TIMEOUT_MS)

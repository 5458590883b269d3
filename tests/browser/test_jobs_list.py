"""The list of jobs with ten thousand rows, the queue, and nodes that drain: by pointer and by keys alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import text
from sqlalchemy.orm import Session

from benchmarks.rows import engine_of, insert_jobs
from gradstream.client import Client, Job, Node
from gradstream.errors import NotFound
from gradstream.local.platform import LocalPlatform
from tests.browser.support import OpenPage, check_looks, every_look, still_box, submit_slow, wait_until
from tests.platforms import register_machine, token_status
from tests.support import JOB_TIMEOUT, eventually

COUNT = 10_000
WAITING = 500


@pytest.fixture(scope="module")
def many(platform: LocalPlatform) -> Iterator[int]:
    """Rows in the platform's own Postgres, which are gone afterwards; how many jobs there are."""
    engine = engine_of(platform.folder)
    with Session(engine) as session, session.begin():
        insert_jobs(session, COUNT, owners=("bob", "eve"))
        total = session.scalar(text("SELECT count(*) FROM jobs"))
    yield int(total or 0)
    with Session(engine) as session, session.begin():
        session.execute(text("DELETE FROM jobs WHERE user_id IN (SELECT id FROM users WHERE name IN ('bob', 'eve'))"))
    engine.dispose()


@pytest.fixture
def crowd(platform: LocalPlatform, client: Client) -> Iterator[int]:
    """A queue in which nothing can start, and how many jobs are in it: as many as the page lists."""
    [node] = client.nodes()
    client.drain(node.name)
    engine = engine_of(platform.folder)
    try:
        with Session(engine) as session, session.begin():
            insert_jobs(session, WAITING, owners=("trent",), statuses=("queued",), seed=1)
        yield WAITING
    finally:
        with Session(engine) as session, session.begin():
            session.execute(text("DELETE FROM jobs WHERE user_id IN (SELECT id FROM users WHERE name = 'trent')"))
        engine.dispose()
        client.resume(node.name)


Submit = Callable[..., Job]
"""Submits a job of this name with so many steps and these arguments."""


@pytest.fixture
def submit(client: Client) -> Iterator[Submit]:
    """The jobs are gone afterwards, also when the test fails: the other tests count jobs and need free slots."""
    submitted: list[Job] = []

    def submit(name: str, steps: int, **args: float) -> Job:
        submitted.append(submit_slow(client, name=name, steps=steps, **args))
        return submitted[-1]

    yield submit
    for job in submitted:
        with suppress(NotFound):
            client.stop(job.id)
            client.wait(job.id, timeout=JOB_TIMEOUT)
            client.delete(job.id)


LAST_ROW = "() => Math.max(...[...document.querySelectorAll('[role=row][aria-selected]')].map(row => +row.ariaRowIndex))"


def grid(page: Page) -> Locator:
    return page.get_by_role("grid", name="Jobs")


def rows(page: Page) -> Locator:
    return grid(page).locator("[role=row][aria-selected]")


def names(page: Page) -> list[str]:
    """Of the rows that exist, from the top."""
    expect(rows(page).first).to_be_visible()
    found = rows(page).evaluate_all("all => all.map(row => [+row.dataset.index, row.querySelector('a').textContent])")
    return [name for _, name in sorted(found)]


def test_the_list_comes_along_while_another_page_is_read(open_page: OpenPage) -> None:
    page = open_page("/nodes")
    wait_until(page, "performance.getEntriesByType('resource').some(({ name }) => name.includes('/JobsPage-'))")
    expect(page.get_by_role("heading", name="Nodes", level=1)).to_be_visible()


@pytest.mark.more
def test_ten_thousand_rows_are_scrolled_to_the_end(open_page: OpenPage, many: int) -> None:
    page = open_page()
    expect(page.get_by_text(f"{many:,} jobs")).to_be_visible()
    expect(grid(page)).to_have_attribute("aria-rowcount", str(many + 1))
    ends: list[int] = []

    def last_row() -> int | None:
        """None: the rows behind those that are known are not there yet; while they are drawn anew, no row is."""
        last = grid(page).evaluate(LAST_ROW)
        return last if last > max(ends, default=0) else None

    while not ends or ends[-1] < many + 1:
        ends.append(eventually(last_row, "rows further down") or 0)
        grid(page).evaluate("frame => { frame.scrollTop = frame.scrollHeight }")
    assert rows(page).count() < 80, "only what is in sight exists"


@pytest.mark.more
def test_back_from_a_job_comes_to_where_one_was(open_page: OpenPage, client: Client, many: int) -> None:
    page = open_page("/jobs?user=bob&user=eve")
    expect(rows(page).first).to_be_visible()
    grid(page).evaluate("frame => { frame.scrollTop = frame.scrollHeight }")
    there = page.locator("[role=row][aria-rowindex='300']")
    expect(page.locator("[role=row][aria-rowindex='190']")).to_be_visible()
    while not there.count():
        grid(page).evaluate("frame => { frame.scrollTop += 400 }")
        page.wait_for_timeout(50)
    before = still_box(there)
    name = there.get_by_role("link").inner_text()
    there.get_by_role("link").click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    page.go_back()
    expect(there.get_by_role("link", name=name)).to_be_in_viewport()
    eventually(lambda: (after := there.bounding_box()) and abs(before["y"] - after["y"]) < 2, "the same place on the screen")
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page.get_by_text(f"{many:,} jobs")).to_be_visible()
    expect(page.locator("[role=row][aria-rowindex='2']")).to_be_in_viewport()


@pytest.mark.more
def test_sorting_by_a_column_holds_for_all_pages(open_page: OpenPage, many: int) -> None:
    page = open_page("/jobs?user=bob&user=eve")
    head = page.get_by_role("columnheader", name="Evaluation")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(page).to_have_url(re.compile("sort=-accuracy"))
    best = rows(page).first.locator("[data-column=accuracy]")
    expect(best).to_contain_text("98.0 %")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(rows(page).first.locator("[data-column=accuracy]")).to_contain_text("40.0 %")
    page.reload()
    expect(rows(page).first.locator("[data-column=accuracy]")).to_contain_text("40.0 %")


def test_filters_stand_in_the_address_and_can_be_named(open_page: OpenPage, many: int) -> None:
    page = open_page()
    page.get_by_role("combobox", name="Status").click()
    page.get_by_role("option", name=re.compile("failed")).click()
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Part of the name").fill("digits-adag")
    expect(page.get_by_text(re.compile(rf"\d+ of {many:,} jobs$"))).to_be_visible()
    expect(page).to_have_url(re.compile("q=digits-adag"))
    expect(rows(page).filter(has_not_text="digits-adag")).to_have_count(0)
    expect(rows(page).first).to_be_visible()
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("textbox", name="Name for the current view").fill("my failures")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto("/jobs")
    expect(page.get_by_text(f"{many:,} jobs")).to_be_visible()
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("link", name="my failures").click()
    expect(page).to_have_url(re.compile("status=failed&q=digits-adag"))
    expect(page.get_by_text(re.compile(rf"\d+ of {many:,} jobs$"))).to_be_visible()


@pytest.mark.more
def test_settings_and_results_are_columns_conditions_and_groups(open_page: OpenPage, many: int) -> None:
    page = open_page("/jobs?user=bob&user=eve")  # jobs of other files may have a lower rate, and come first by it
    page.get_by_placeholder("Conditions: lr>=0.1").fill("strategy.lr>0")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("where=strategy.lr"))
    page.get_by_role("button", name="Columns").click()
    page.get_by_placeholder("lr, batch_size").fill("lr,window,")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.get_by_role("columnheader", name="lr", exact=True).get_by_role("button").click()
    expect(page).to_have_url(re.compile("by=lr.*fields=lr"))
    expect(rows(page).first.locator("[data-column=lr]")).to_contain_text("0.05")
    check_looks(page, "jobs-with-fields", full_page=False)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    assert download.value.path().read_text().startswith("id,name,tags,status,strategy,gate,")
    page.get_by_role("combobox", name="Group by").click()
    page.get_by_role("option", name="strategy", exact=True).click()
    table = page.get_by_role("region", name="Jobs by strategy")
    expect(table.get_by_role("row").filter(has_text="adag")).to_contain_text("±")
    check_looks(page, "jobs-in-groups", full_page=False)
    table.get_by_role("link", name="adag").click()
    expect(rows(page).filter(has_not_text="adag")).to_have_count(0)
    expect(rows(page).first).to_be_visible()


@pytest.mark.more
def test_figures_end_at_one_edge_in_rows_of_36_pixels(open_page: OpenPage, many: int) -> None:
    page = open_page("/jobs?user=bob&user=eve&status=succeeded")
    expect(rows(page).first).to_be_visible()
    heights = rows(page).evaluate_all("all => all.map(row => row.offsetHeight)")
    assert set(heights) == {36}
    for column in ("workers", "throughput", "loss"):
        ends = page.locator(f"[role=gridcell][data-column={column}] > span").evaluate_all(
            "all => all.map(cell => { const range = document.createRange(); range.selectNodeContents(cell);"
            " return Math.round(range.getBoundingClientRect().right) })"
        )
        assert len(set(ends)) == 1, (column, ends)
    assert not page.locator("[data-column=throughput]").filter(has_text=re.compile(r"\dk")).count()


@pytest.mark.more
def test_columns_are_selected(open_page: OpenPage, many: int) -> None:
    page = open_page()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="User").click()
    page.get_by_role("checkbox", name="Staleness").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="User")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Staleness")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("columnheader", name="User")).to_be_visible()


@pytest.mark.more
def test_new_jobs_are_told_and_move_no_row(open_page: OpenPage, client: Client, many: int, submit: Submit) -> None:
    page = open_page("/jobs?q=digits")
    expect(page.get_by_role("status").get_by_text("live")).to_be_visible()
    before = names(page)
    job = submit("digits-news", 20)
    button = page.get_by_role("button", name="1 new")
    expect(button).to_be_visible()
    assert names(page) == before
    button.click()
    expect(rows(page).first).to_contain_text("digits-news")
    expect(button).to_have_count(0)
    client.wait(job.id, timeout=JOB_TIMEOUT)
    expect(rows(page).first).to_contain_text("succeeded")


@pytest.mark.more
def test_all_jobs_of_a_long_list_are_selected(open_page: OpenPage, many: int) -> None:
    page = open_page()
    page.get_by_role("checkbox", name="Select all loaded jobs").check()
    bar = page.get_by_role("region", name="Selected jobs")
    expect(bar.get_by_role("status")).to_have_text(f"200 of {many:,} jobs selected")
    bar.get_by_role("button", name=f"Select all {many:,}").click()
    expect(bar.get_by_role("status")).to_have_text(f"{many:,} of {many:,} jobs selected", timeout=60_000)
    expect(bar.get_by_role("button", name="Select all")).to_have_count(0)


@pytest.mark.more
def test_many_are_stopped_with_one_question(open_page: OpenPage, client: Client, many: int, submit: Submit) -> None:
    jobs = [submit(f"stop-me-{n}", 100_000, pause=0.5) for n in range(3)]
    page = open_page("/jobs?q=stop-me")
    expect(rows(page)).to_have_count(3)
    page.get_by_role("checkbox", name="Select stop-me-0").click()
    page.get_by_role("checkbox", name="Select stop-me-2").click(modifiers=["Shift"])
    bar = page.get_by_role("region", name="Selected jobs")
    expect(bar.get_by_role("status")).to_have_text("3 of 3 jobs selected")
    page.get_by_role("button", name="Stop").click()
    question = page.get_by_role("dialog", name="Stop 3 jobs?")
    expect(question).to_contain_text("cancelled")
    question.get_by_role("button", name="Stop").click()
    expect(bar.get_by_role("status")).to_have_text(re.compile(r"jobs? (is|are) stopping\.|jobs? that waited (is|are) cancelled\."))
    bar.get_by_role("button", name="Close").click()
    expect(bar).to_have_count(0)
    for n in range(3):
        expect(rows(page).filter(has_text=f"stop-me-{n}")).to_contain_text(re.compile("stopping|cancelled"))
    for job in jobs:
        assert client.wait(job.id, timeout=JOB_TIMEOUT).status == "cancelled"
    page.get_by_role("checkbox", name="Select all loaded jobs").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog", name="Delete 3 jobs?").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No job matches these filters.")).to_be_visible()
    assert client.jobs(q="stop-me").items == []


@pytest.mark.more
def test_by_keys_alone(open_page: OpenPage, many: int) -> None:
    page = open_page()
    expect(page.get_by_text(f"{many:,} jobs")).to_be_visible()
    shown = names(page)
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(help_).to_contain_text("Next job")
    page.keyboard.press("Escape")
    expect(help_).to_have_count(0)
    for key in ("j", "j", "Space", "j", "j", "k", "X"):
        page.keyboard.press(key)
    expect(page.get_by_text(re.compile(r"^2 of [\d,]+ jobs selected$"))).to_be_visible()
    active = page.locator("[role=row][data-active]")
    expect(active).to_contain_text(shown[2])
    assert grid(page).get_attribute("aria-activedescendant") == active.get_attribute("id")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Selected jobs")).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("faces-sync")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("q=faces-sync"))
    expect(rows(page).first).to_contain_text("faces-sync")
    grid(page).focus()
    page.keyboard.press("Home")
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    expect(active).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}"))
    for key, heading in (("q", "Queue"), ("n", "Nodes"), ("s", "Settings"), ("d", "API"), ("j", "Jobs")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.get_by_role("heading", name=heading, level=1, exact=True)).to_be_visible()


@pytest.fixture(scope="class")
def busy(client: Client) -> Iterator[None]:
    """Two jobs that run, with few steps to be stored and shown, and one that waits for free slots."""
    jobs = [submit_slow(client, name=name, steps=100_000, pause=1.0) for name in ("runs", "runs-too", "waits")]
    yield
    for job in jobs:
        client.stop(job.id)
    for job in jobs:
        client.wait(job.id, timeout=JOB_TIMEOUT)


@pytest.mark.usefixtures("many", "busy")
class TestLooks:
    @pytest.mark.few(1)
    @every_look
    @pytest.mark.parametrize("path", ["/jobs", "/queue", "/nodes", "/settings", "/docs"])
    def test_page(self, path: str, width: int, scheme: str, look_at: OpenPage) -> None:
        page = look_at(path, width=width, scheme=scheme)
        if path == "/jobs":
            rows(page).nth(3).get_by_role("checkbox").click()
        elif path != "/docs":
            expect(page.get_by_text(re.compile("runs-too|Total jobs")).first).to_be_visible()
        check_looks(page, f"{path[1:]}-{width}-{scheme}-many", full_page=False)


@pytest.fixture
def node(client: Client) -> Iterator[Node]:
    """The platform's own machine, which takes jobs afterwards."""
    [node] = client.nodes()
    yield node
    client.resume(node.name)


def test_a_node_is_drained_and_resumed(open_page: OpenPage, client: Client, submit: Submit, node: Node) -> None:
    page = open_page("/nodes")
    assert node.isolation
    expect(page.get_by_text(f"Isolation of jobs: {node.isolation.level}")).to_be_visible()
    page.get_by_role("button", name=f"Drain {node.name}").click()
    page.get_by_role("dialog").get_by_role("button", name="Drain").click()
    expect(page.get_by_text("nothing new is scheduled here")).to_be_visible()
    job = submit("not-here", 10)
    page.goto("/queue")
    waiting = page.get_by_role("table", name="Waiting jobs")
    expect(waiting).to_contain_text("All machines drain")
    waiting.get_by_label("Priority of not-here").fill("70")
    with page.expect_response(lambda answer: answer.url.endswith("/priority")):
        page.keyboard.press("Enter")
    page.goto("/nodes")
    page.get_by_role("button", name=f"Resume {node.name}").click()
    done = client.wait(job.id, timeout=JOB_TIMEOUT)
    assert (done.status, done.as_dict()["priority"]) == ("succeeded", 70)


def test_a_machine_that_is_gone_is_removed(open_page: OpenPage, platform: LocalPlatform) -> None:
    token = register_machine(platform, "gone")
    page = open_page("/nodes")
    page.get_by_role("button", name="Remove gone").click()
    question = page.get_by_role("dialog", name="Remove gone?")
    expect(question).to_contain_text("revokes its credential")
    question.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("button", name="Remove gone")).to_have_count(0)
    assert token_status(platform, token) == 403


def test_hundreds_that_wait_are_few_elements(open_page: OpenPage, client: Client, crowd: int) -> None:
    page = open_page("/queue")
    waiting = page.get_by_role("table", name="Waiting jobs")
    expect(waiting).to_contain_text("All machines drain")
    assert page.evaluate("document.querySelectorAll('*').length") < 2_000
    assert page.evaluate("document.documentElement.scrollHeight") < 3_000
    shown = waiting.locator("[role=row][data-index]")
    assert 5 < shown.count() < 60, "only what is in sight exists"
    expect(waiting).to_have_attribute("aria-rowcount", str(crowd + 1))

    waiting.evaluate("frame => { frame.scrollTop = frame.scrollHeight }")
    last = waiting.locator(f"[role=row][aria-rowindex='{crowd + 1}']")
    expect(last).to_be_in_viewport()
    place = last.get_by_role("cell").first
    expect(place).to_have_text(str(crowd))
    name = last.get_by_role("link").inner_text()
    path = str(last.get_by_role("link").get_attribute("href"))
    job = shown.filter(has=page.locator(f"a[href='{path}']"))
    field = job.get_by_label(f"Priority of {name}")
    field.click()
    field.press("ControlOrMeta+a")
    field.press("9")
    waiting.evaluate("frame => { frame.scrollTop = 0 }")
    expect(waiting.locator("[role=row][aria-rowindex='2']")).to_be_in_viewport()
    for _ in range(2):
        page.wait_for_event("requestfinished", lambda request: request.url.endswith("/jobs/queue"))
    expect(field).to_be_focused()
    page.keyboard.type("5")
    with page.expect_response(lambda answer: answer.url.endswith("/priority")):
        page.keyboard.press("Enter")
    expect(job.get_by_role("cell").first).to_have_text("1")
    expect(field).to_be_focused()
    assert client.job(path.rsplit("/", 1)[1]).as_dict()["priority"] == 95


def test_letters_can_be_switched_off(open_page: OpenPage) -> None:
    page = open_page("/settings")
    page.get_by_role("switch", name="Single-key shortcuts").click()
    page.keyboard.press("?")
    page.keyboard.press("c")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url(re.compile("/settings"))


def test_the_help_menu_leads_to_the_guides_and_they_to_each_other(open_page: OpenPage) -> None:
    page = open_page("/nodes")
    page.get_by_role("button", name="Help").click()
    page.get_by_role("menuitem", name="Guides").click()
    page.get_by_role("link", name="Slow workers", exact=True).click()
    expect(page.get_by_role("heading", name="Slow workers", level=1)).to_be_visible()
    page.get_by_role("article").get_by_role("link", name="group", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("roup"))
    expect(page).to_have_url(re.compile("/guides/groups$"))
    page.goto("/guides/stragglers#cost-and-remedies")
    expect(page.get_by_role("heading", name="Cost and remedies")).to_be_in_viewport()
    expect(page.get_by_role("heading", name="Slow workers", level=1)).not_to_be_in_viewport()


@pytest.mark.more
def test_the_api_is_described(open_page: OpenPage) -> None:
    page = open_page("/nodes")
    page.get_by_role("button", name="Help").click()
    page.get_by_role("menuitem", name="API documentation").click()
    page.get_by_role("textbox", name="Find a request").fill("changeJobs")
    page.get_by_text("/api/v1/jobs/bulk", exact=True).click()
    expect(page.get_by_text("BulkAnswer")).to_be_visible()

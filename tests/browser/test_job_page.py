"""The page of one job that runs: its overview, its workers and what ends them, its logs, files and job file."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page, expect

from backend.logs.repository import MAX_BYTES
from gradstream.client import Client, Job
from gradstream.spec import JobSpec
from tests.browser.support import WORKLOAD, OpenPage, check_looks, every_look, slow_spec, submit_slow, wait_until
from tests.support import JOB_TIMEOUT, eventually

LONG = 100_000
TABS = ["overview", "workers", "logs", "events", "files", "code", "config"]


@pytest.fixture(scope="module")
def job(client: Client) -> Job:
    """A job that has lost a worker and goes on."""
    job = submit_slow(client, name="bruised", steps=400)
    _running(client, job)
    _victim(client, job, "worker-1").kill()
    eventually(lambda: _incarnations(client, job, "worker-1")[-1] in [(1, "running"), (1, "exited")], "the next incarnation")
    return job


def test_a_killed_worker_is_seen_with_its_cost_and_the_rest_adds_up(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}")
    failures = page.get_by_role("region", name="Process failures").get_by_role("row")
    expect(failures).to_have_count(2)
    expect(failures.nth(1)).to_contain_text("killed by signal 9")
    expect(failures.nth(1)).to_contain_text(re.compile(r"this process was down for \d+\.\d s; the others continued"))
    expect(page.get_by_role("img", name=re.compile(r"^worker-0: Compute \d+ %"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"^Not measured: the workers ran on a processor core"))).to_be_visible()  # they sleep
    wait_until(
        page,
        """() => {
          const counts = [...document.querySelectorAll('dt')].filter(dt => dt.nextElementSibling?.querySelector('strong'))
            .map(dt => Number(dt.nextElementSibling.querySelector('strong').textContent.replaceAll(',', '')))
          return counts.length === 6 && counts[0] > 0 && counts[0] === counts.slice(1).reduce((a, b) => a + b)
        }""",
    )


@pytest.mark.more
def test_a_worker_is_restarted_and_stopped_after_its_cost_is_said(open_page: OpenPage, client: Client) -> None:
    job = submit_slow(client, name="steered", steps=LONG, pause=0.2)
    _running(client, job)
    page = open_page(f"/jobs/{job.id}/workers")
    workers = page.get_by_role("region", name="Workers", exact=True).first
    expect(workers.get_by_role("row", name=re.compile("worker-0 .* (kB|MB|GB) "))).to_be_visible(timeout=30_000)
    _act(page, "worker-0", "Restart")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("its next incarnation starts from the center")
    dialog.get_by_role("button", name="Restart").click()
    expect(page.get_by_role("cell", name="worker-0.1")).to_be_visible(timeout=30_000)
    _act(page, "worker-1", "Stop")
    dialog.get_by_role("button", name="Stop").click()
    eventually(lambda: [p.reason for p in client.processes(job.id) if p.label == "worker-1"] == ["stopped"], "it leaves")
    assert client.job(job.id).status == "running"
    _act(page, "server-0", "Restart")
    expect(dialog).to_contain_text("All processes end")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    client.stop(job.id)
    assert client.wait(job.id, timeout=JOB_TIMEOUT).status == "cancelled"


def test_logs_are_filtered_followed_and_downloaded(open_page: OpenPage, job: Job, tmp_path: Path) -> None:
    page = open_page(f"/jobs/{job.id}/logs?role=worker&rank=0")
    log = page.get_by_role("log")
    expect(log).to_contain_text("one more step")
    page.get_by_label("Text in the line").fill("no such words")
    expect(page.get_by_text("No line matches these filters.")).to_be_visible()
    page.get_by_label("Text in the line").fill("^one .*step$")
    page.get_by_role("button", name="Text is a regular expression").click()
    expect(log).to_contain_text("one more step")
    expect(page).to_have_url(re.compile("regex=1"))
    page.get_by_label("Text in the line").fill("(")
    expect(page.get_by_text(re.compile("Invalid regular expression"))).to_be_visible()
    with page.expect_download() as started:
        page.get_by_role("link", name="Download").click()
    said = tmp_path / "log"
    started.value.save_as(said)
    lines = said.read_text().splitlines()
    assert lines
    assert all(" worker-0 " in line for line in lines)


@pytest.mark.more
def test_scrolling_up_stops_following_and_the_place_stands_in_the_address(open_page: OpenPage, job: Job) -> None:
    page = open_page(f"/jobs/{job.id}/logs")
    log = page.get_by_role("log")
    expect(log).to_contain_text("one more step")
    wait_until(page, "() => (log => log.scrollHeight > 2 * log.clientHeight)(document.querySelector('[role=log]'))")
    follow = page.get_by_role("switch", name="Follow")

    def left_the_end() -> bool:
        log.evaluate("log => { log.scrollTop = 60 }")  # a line that comes just now takes it to the end again
        return not follow.is_checked()

    eventually(left_the_end, "a log that is not followed")
    expect(page).to_have_url(re.compile(r"line=\d+\.\d+"))
    page.reload()
    expect(log).to_contain_text("one more step")
    expect(follow).not_to_be_checked()
    assert log.evaluate("log => log.scrollTop") < log.evaluate("log => log.scrollHeight") / 2


@pytest.mark.more
def test_the_home_key_reads_older_lines_until_all_are_there(open_page: OpenPage, client: Client) -> None:
    job = client.wait(submit_slow(client, name="talkative", steps=200, pause=0, lines=400).id, timeout=JOB_TIMEOUT)
    sizes = [-1, 0]

    def stored() -> bool:
        """The last output is stored a moment after the end of the job."""
        sizes.append(sum(len(chunk.text) for chunk in client.logs(job.id)))
        return sizes[-1] == sizes[-2] == sizes[-3]

    eventually(stored, "all output")
    chunks = list(client.logs(job.id))
    written = sum(chunk.text.count("\n") for chunk in chunks)
    assert sum(len(chunk.text) for chunk in chunks) > MAX_BYTES
    page = open_page(f"/jobs/{job.id}/logs")
    expect(page.get_by_text("scroll up for older ones")).to_be_visible()
    expect(page.get_by_role("log")).to_contain_text("one more step")

    def has_all() -> bool:
        page.get_by_role("log").press("Home")
        return page.get_by_text(f"{written:,} lines", exact=True).count() > 0

    eventually(has_all, "the page of logs to have each line once")


@pytest.mark.more
def test_checkpoints_and_files_and_the_job_file_against_another(
    open_page: OpenPage, client: Client, job: Job, tmp_path: Path
) -> None:
    assert client.wait(job.id, timeout=JOB_TIMEOUT).status == "succeeded"
    given = slow_spec(name="other", steps=20).model_dump(mode="json", exclude_none=True)
    own = {"strategy": {"name": "sync", "lr": 0.05}, "workload": {"entrypoint": "slow:Slow"}}
    synchronous = JobSpec.model_validate({**given, **own})
    changed = tmp_path / "changed"
    shutil.copytree(WORKLOAD, changed)
    (changed / "slow.py").write_text((changed / "slow.py").read_text() + "\nCHANGED = True\n")
    other = client.wait(client.submit(synchronous, code=changed).id, timeout=JOB_TIMEOUT)
    page = open_page(f"/jobs/{job.id}/files")
    page.get_by_role("button", name="Show job.yaml").click()
    expect(page.get_by_role("dialog")).to_contain_text("name: bruised")
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("Last checkpoint of attempt 1")).click()
    page.get_by_role("button", name="Show checkpoints/0/manifest.json").click()
    expect(page.get_by_role("dialog")).to_contain_text('"members"')
    page.keyboard.press("Escape")

    page.goto(f"/jobs/{job.id}/config?against={other.id}")
    differences = page.get_by_role("region", name="Compared with another job")
    expect(differences.get_by_role("row", name=re.compile(r"stop\.steps 400 20"))).to_be_visible()
    expect(differences.get_by_role("row", name=re.compile(r"gate\.mode asp bsp"))).to_be_visible()
    expect(differences.get_by_role("row", name=re.compile("on_worker_loss continue restart"))).to_be_visible()
    expect(differences.get_by_role("row", name=re.compile(r"strategy\.name async sync"))).to_be_visible()
    expect(differences.get_by_role("group", name="Differences: setting").get_by_role("row")).to_have_count(5)
    expect(differences.get_by_text("same packages on the same machine")).to_be_visible()
    expect(differences.get_by_role("region", name="Lines of slow.py")).to_contain_text("+CHANGED = True")
    expect(page.get_by_label("Job file", exact=True).locator("visible=true").first).not_to_contain_text("timeout")

    page.get_by_role("link", name="Its code").click()
    page.get_by_role("tab", name="Code", selected=True).wait_for()
    files = page.get_by_role("navigation", name="Files")
    expect(files.get_by_role("button", name="slow.py")).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("region", name="Text of slow.py")).to_contain_text("class Slow(")


@pytest.mark.more
def test_changes_that_were_not_committed_stand_below_the_code(open_page: OpenPage, client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    shutil.copytree(WORKLOAD, folder)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(("git", *who, *words), cwd=folder, check=True)
    module = folder / "slow.py"
    module.write_text(module.read_text() + "\nCHANGED = True\n")
    (folder / "more.py").write_text("")
    job = client.submit(slow_spec(name="uncommitted", steps=1), code=folder)
    page = open_page(f"/jobs/{job.id}/code")
    changes = page.get_by_role("region", name="Changes that were not committed")
    expect(changes.get_by_role("region", name="Lines of slow.py")).to_contain_text("+CHANGED = True")
    expect(changes.get_by_role("region", name="Difference of more.py")).to_contain_text("is not in the commit")
    check_looks(page, "uncommitted")


@pytest.mark.more
def test_the_checkpoint_that_a_job_starts_from_is_named_and_its_job_is_a_link(open_page: OpenPage, client: Client) -> None:
    source = submit_slow(client, name="source", steps=5)
    assert client.wait(source.id, timeout=JOB_TIMEOUT).status == "succeeded"
    given = slow_spec(name="heir", steps=5).model_dump(mode="json", exclude_none=True)
    spec = JobSpec.model_validate({**given, "start_from": {"job": "source", "checkpoint": "last"}})
    heir = client.submit(spec, code=WORKLOAD)
    assert heir.started_from is not None
    page = open_page(f"/jobs/{heir.id}")
    version = f"{heir.started_from.version:,}"
    expect(page.get_by_text(f"Starts from the last checkpoint of attempt 1, version {version}")).to_be_visible()
    page.get_by_role("link", name="source", exact=True).click()
    expect(page).to_have_url(re.compile(f"/jobs/{source.id}"))
    assert client.wait(heir.id, timeout=JOB_TIMEOUT).status == "succeeded"


@pytest.mark.few(2)
@every_look
@pytest.mark.parametrize("tab", TABS)
def test_every_tab_is_for_everybody(tab: str, width: int, scheme: str, look_at: OpenPage, job: Job) -> None:
    page = look_at(f"/jobs/{job.id}/{tab}", width=width, scheme=scheme)
    page.get_by_role("tabpanel").wait_for()
    expect(page.get_by_role("tab", selected=True)).to_be_in_viewport()
    check_looks(page, f"job-{tab}-{width}-{scheme}")


def _act(page: Page, label: str, what: str) -> None:
    page.get_by_role("button", name=f"Actions for {label}", exact=True).click()
    page.get_by_role("menuitem", name=what).click()


def _running(client: Client, job: Job) -> None:
    eventually(lambda: client.job(job.id).progress.version > 10, f"{job.name} trains")


def _incarnations(client: Client, job: Job, label: str) -> list[tuple[int, str]]:
    return sorted((one.incarnation, one.status) for one in client.processes(job.id) if one.label == label)


def _victim(client: Client, job: Job, label: str) -> psutil.Process:
    """The system's process behind one of the job's; its title says which it is."""
    one = next(process for process in client.processes(job.id) if process.label == label and process.status == "running")
    for process in psutil.process_iter(["cmdline"]):
        if _folder_of(process) == str(one.id):
            return process
    raise AssertionError(f"no process runs for {label}")


def _folder_of(process: psutil.Process) -> str:
    """A job process works below a folder of its id's name."""
    try:
        return Path(process.cwd()).parent.name
    except psutil.Error:
        return ""


HOLDERS = {
    "shared": ("worker k holds shard k, and", "each worker holds a shard.", "shard k is held by worker k"),
    "gloo": ("each worker holds the whole model, and", "each worker holds the whole model.", "each worker holds the whole model."),
}


@pytest.mark.more
@pytest.mark.parametrize("collective", HOLDERS)
def test_a_job_without_servers_names_no_server(collective: str, open_page: OpenPage, client: Client) -> None:
    of_breakdown, of_servers, of_shards = HOLDERS[collective]
    roles = {"worker": {"count": 2, "device": "cpu"}, "server": {"count": 0, "collective": collective}}
    given = slow_spec(name="serverless", steps=4).model_dump(mode="json", exclude={"gate"})
    spec = JobSpec.model_validate({**given, "strategy": {"name": "sync"}, "roles": roles})
    job = client.submit(spec, code=WORKLOAD)
    assert client.wait(job.id, timeout=JOB_TIMEOUT).status == "succeeded"
    page = open_page(f"/jobs/{job.id}")
    breakdown = page.get_by_role("region", name="Time breakdown")
    last = {"shared": 1, "gloo": 0}[collective]
    expect(breakdown.get_by_role("img", name=re.compile(f"^shard {last}: Apply"))).to_be_visible()
    expect(breakdown).to_contain_text(f"{of_breakdown} applies pushes while it waits")
    expect(breakdown).not_to_contain_text("server-")
    page = open_page(f"/jobs/{job.id}/workers")
    expect(page.get_by_role("region", name="Servers")).to_contain_text(f"This job has no servers: {of_servers}")
    expect(page.get_by_role("region", name="Servers")).not_to_contain_text("server-")
    expect(page.get_by_role("region", name="Shards")).to_contain_text(of_shards)


@pytest.mark.more
@pytest.mark.parametrize(("fields", "told"), [({"hogwild": 2}, "threads"), ({"group": 2}, "processes")])
def test_the_header_counts_what_a_worker_computes_with(
    fields: dict[str, int], told: str, open_page: OpenPage, client: Client
) -> None:
    given = slow_spec(name=told, steps=4).model_dump(mode="json")
    roles = {**given["roles"], "worker": {**given["roles"]["worker"], **fields}}
    job = client.submit(JobSpec.model_validate({**given, "roles": roles}), code=WORKLOAD)
    page = open_page(f"/jobs/{job.id}")
    expect(page.get_by_text(re.compile(f"async under asp · 2 workers of 2 {told}, 1 shard"))).to_be_visible()
    assert client.wait(job.id, timeout=JOB_TIMEOUT).status == "succeeded"

"""Commands beside the life of one job: queue, priority, events, follow, delete, completion; errors for programs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest

from gradstream.cli import completion
from gradstream.client import Client, Credentials, Job
from gradstream.process.zygote import orphans
from tests.integration.cli.shared import COMMAND, FOREVER, LINE, Gradstream
from tests.support import JOB_TIMEOUT, eventually


def test_the_queue_and_priorities(gradstream: Gradstream, client: Client, submit: Callable[..., Job]) -> None:
    running = submit(FOREVER, "name=holding")
    eventually(lambda: client.job(running).status == "running", "the job runs")
    waiting = submit(FOREVER, "name=too-large", "roles.worker.count=9")
    eventually(lambda: client.job(waiting).position, "a place in the queue")
    listed = gradstream("queue").stdout
    assert "too-large" in listed
    assert "holding" in listed
    changed = gradstream("priority", "too-large", "90")
    assert "has priority 90, place 1 in the queue" in changed.stderr
    queue = json.loads(gradstream("queue", "--json").stdout)
    assert [job["priority"] for job in queue["waiting"] if job["name"] == "too-large"] == [90]
    assert gradstream("priority", "too-large", "101").returncode == 2
    refused = gradstream("delete", "too-large", "--yes")
    assert refused.returncode == 1
    assert f"stop it first: gradstream stop {waiting.id}" in refused.stderr


@pytest.mark.more
def test_a_job_is_labelled_found_by_its_tag_and_archived(
    gradstream: Gradstream, client: Client, submit: Callable[..., Job]
) -> None:
    job = submit("name=labelled", "tags=[first]")
    told = gradstream("edit", "labelled", "--tag", "base line", "--untag", "first", "--note", "as before")
    assert told.stderr.strip() == "labelled: tags: base line, note: as before"
    assert [each["name"] for each in json.loads(gradstream("jobs", "--tag", "base line", "--json").stdout)["items"]] == ["labelled"]
    shown = gradstream("show", "labelled").stdout
    assert "base line" in shown
    assert "as before" in shown
    client.wait(job, timeout=JOB_TIMEOUT)
    renamed = json.loads(gradstream("edit", "labelled", "--name", "relabelled", "--archive", "--json").stdout)
    assert (renamed["name"], renamed["archived"], renamed["tags"]) == ("relabelled", True, ["base line"])
    assert gradstream("jobs", "--tag", "base line").stderr.strip() == "No job matches."
    assert "relabelled" in gradstream("jobs", "--archived").stdout
    assert gradstream("show", "relabelled").returncode == 0, "a reference finds it, too"
    nothing = gradstream("edit", "relabelled")
    assert nothing.returncode == 2
    assert "--name, --tag, --untag, --note, --archive or --unarchive" in nothing.stderr
    bad = gradstream("edit", "relabelled", "--tag", "a,b")
    assert bad.returncode != 0
    assert "no comma" in bad.stderr


def test_a_job_process_says_in_ps_what_it_is(client: Client, submit: Callable[..., Job]) -> None:
    job = submit(FOREVER, "name=titled")
    wanted = f"gradstream worker-0 of titled ({job.id})"

    def titled() -> list[psutil.Process]:
        return [process for process in psutil.Process(os.getpid()).children(recursive=True) if _command_line(process) == wanted]

    [process] = eventually(titled, "a process with this title")
    assert orphans.OWNER in process.environ(), "the title takes no space from the environment, which says whose the process is"


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()).strip()
    except psutil.Error:
        return ""


@pytest.mark.more
def test_events_follow_and_delete(gradstream: Gradstream, client: Client) -> None:
    job = client.submit(LINE, overrides=["name=short-lived"])
    followed = gradstream("follow", "short-lived")
    assert followed.returncode == 0
    assert "attempt 1" in followed.stderr
    assert "succeeded short-lived" in followed.stderr
    events = gradstream("events", "short-lived", "--kind", "status").stdout.splitlines()
    assert len(events) == 1 + len(client.events(job, kinds=["status"]))
    assert gradstream("events", "short-lived", "--kind", "retention").stderr.startswith("No events of this kind")
    assert "had ended before: succeeded" in gradstream("stop", "short-lived").stderr
    assert "no process of it runs" in gradstream("restart", "short-lived", "worker-0").stderr
    stamped = gradstream("logs", "short-lived", "--timestamps").stdout.splitlines()
    assert all(line[:2] == "20" and " | " in line for line in stamped)
    deleted = gradstream("delete", str(job.id), "--yes", "--json")
    assert json.loads(deleted.stdout) == {"deleted": [str(job.id)]}
    missing = gradstream("show", str(job.id), "--json")
    error = json.loads(missing.stdout)["error"]
    assert (missing.returncode, error["exit_code"], error["type"]) == (4, 4, "NotFound")
    assert missing.stderr.startswith("error: ")


def test_unknown_words_are_refused(gradstream: Gradstream, succeeded: Job) -> None:
    for words, hint in (
        (("jobs", "--strategy", "asink"), "did you mean"),
        (("metrics", succeeded.name, "--name", "train/los"), "did you mean 'train/loss'"),
        (("metrics", succeeded.name, "--name", "train/los", "--csv"), "did you mean 'train/loss'"),
    ):
        ran = gradstream(*words)
        assert ran.returncode in (2, 4)
        assert hint in ran.stderr
    assert gradstream("jobs", "--query", "no-such-name").stderr == "No job matches.\n"


def test_jobs_and_nodes_complete(credentials: Credentials, succeeded: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSTREAM_URL", credentials.url)
    monkeypatch.setenv("GRADSTREAM_TOKEN", credentials.token)
    assert "succeeded" in dict(completion.complete_job("succ"))
    assert str(succeeded.id) in dict(completion.complete_job(str(succeeded.id)[:4]))
    assert len(completion.complete_node("")) == 1


@pytest.mark.parametrize(("unbuffered", "word"), [("", "strategies"), ("1", "strategies"), ("", "--help")])
def test_a_full_disk_behind_the_output_is_told_in_a_sentence(environment: dict[str, str], unbuffered: str, word: str) -> None:
    settings = {**environment, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        ran = subprocess.run([*COMMAND, word], env=settings, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert ran.returncode == 6
    assert ran.stderr == "error: the output could not be written: No space left on device\n"


def test_an_error_for_programs_is_told_on_stderr_when_the_output_is_full(environment: dict[str, str]) -> None:
    with open("/dev/full", "w") as full:
        command = [*COMMAND, "show", "no-such-job", "--json"]
        ran = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        silent = subprocess.run(command, env=environment, stdout=full, stderr=full, timeout=60)
    assert (ran.returncode, silent.returncode) == (4, 4)
    assert ran.stderr == "error: there is no job 'no-such-job'; `gradstream jobs` lists them\n"


@pytest.mark.parametrize("word", ["strategies", "show no-such-job"])
def test_a_closed_output_leaves_no_traceback(environment: dict[str, str], word: str) -> None:
    line = shlex.join([sys.executable, "-m", "gradstream"]) + f" {word}"
    ran = subprocess.run(["sh", "-c", f"{line} >&-"], env=environment, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in ran.stderr
    assert ran.returncode == (4 if "show" in word else 0)


@pytest.mark.few(2)
@pytest.mark.parametrize("words", ["--help", "--version", "schema", "strategies", "train --help", "jobs --json"])
def test_a_reader_that_has_enough_ends_each_command_alike(environment: dict[str, str], words: str) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        ran = subprocess.run([*COMMAND, *words.split()], env=environment, stdout=write, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(write)
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_open_takes_the_folder_that_was_named(gradstream: Gradstream, tmp_path: Path) -> None:
    ran = gradstream("open", "--print", "--data-dir", str(tmp_path))
    assert (ran.returncode, ran.stdout) == (3, "")
    assert f"no platform has run in {tmp_path}" in ran.stderr


def test_probes_and_bodies_of_another_type_get_an_answer_that_helps(credentials: Credentials) -> None:
    headers = {"Authorization": f"Bearer {credentials.token}"}
    probe = httpx.get(f"{credentials.url}/healthz")
    assert probe.status_code == 404
    assert "/api/v1/health" in probe.json()["detail"]
    page = httpx.get(f"{credentials.url}/jobs", headers={"Accept": "text/html,*/*;q=0.8"})
    assert page.headers["content-type"].startswith("text/html")
    sent = httpx.post(f"{credentials.url}/api/v1/jobs", headers=headers | {"Content-Type": "text/plain"}, content="name: x")
    assert sent.status_code == 422
    assert "Content-Type: application/json" in sent.json()["detail"]

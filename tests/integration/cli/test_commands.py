"""The commands as a user runs them, against a real platform."""

from __future__ import annotations

import csv
import io
import json
import platform
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gradstream import marker
from gradstream.api.progress import GroupLoad
from gradstream.bundle import pack
from gradstream.client import Client, Credentials, Job
from tests.integration.cli.shared import COMMAND, FOREVER, LINE, Gradstream, api_process
from tests.support import JOB_TIMEOUT, TIMEOUT, eventually

BROKEN = """\
from gradstream import Workload


class Broken(Workload):
    def dataset(self, split):
        raise RuntimeError("the user's own mistake")

    def model(self):
        raise NotImplementedError

    def loss(self, model, batch):
        raise NotImplementedError
"""


def test_submit_and_follow_to_the_end(gradstream: Gradstream) -> None:
    done = gradstream("submit", LINE / "job.yaml", "--set", "name=cli-follow", "--follow", "--json")
    assert done.returncode == 0, done.stderr
    job = json.loads(done.stdout)
    assert (job["name"], job["status"]) == ("cli-follow", "succeeded")
    assert "samples" in done.stderr


def test_submit_prints_the_id_which_other_commands_take(gradstream: Gradstream, client: Client) -> None:
    done = gradstream("submit", LINE / "job.yaml", "--set", "name=cli-id")
    assert done.returncode == 0, done.stderr
    id = done.stdout.strip()
    assert client.find(id).name == "cli-id"
    waited = gradstream("wait", id, "--json")
    assert (waited.returncode, json.loads(waited.stdout)["id"]) == (0, id)


def test_a_job_that_fails_is_code_10_and_shows_the_users_traceback(gradstream: Gradstream, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    job = "name: broken\nworkload: {entrypoint: 'broken:Broken'}\nstrategy: {name: async}\nstop: {steps: 1}\n"
    (tmp_path / "job.yaml").write_text(job)
    done = gradstream("run", "job.yaml")
    assert done.returncode == 10, done.stderr
    story, _, log = done.stderr.partition(" | ")
    assert story.count("the user's own mistake") == 1, "the reason stands once, as the headline"
    assert "failed broken: " in story
    assert log.count("Traceback (most recent call last)") == 1, "of the process that explains the failure, not of all"
    assert log.count("RuntimeError: the user's own mistake") == 1
    assert gradstream("wait", "broken").returncode == 10
    shown = json.loads(gradstream("show", "broken", "--json").stdout)
    assert shown["reason"] == "user_error"
    assert "broken.py" in gradstream("logs", "broken").stdout


@pytest.mark.more
def test_show_lists_the_processes_of_a_group(client: Client, gradstream: Gradstream, submit: Callable[..., Job]) -> None:
    job = submit("roles.worker.group=2", "roles.worker.count=2", FOREVER)

    def reported() -> list[GroupLoad] | None:
        found = client.groups(job)
        complete = len(found) == 2 and all(len(group.peers) == 2 and group.peers[1].cpu is not None for group in found)
        return found if complete else None

    groups = eventually(reported, "figures of all processes of both groups")
    assert [(group.label, [peer.label for peer in group.peers]) for group in groups] == [
        (f"worker-{rank}", [f"worker-{rank}/{peer}" for peer in (0, 1)]) for rank in (0, 1)
    ]
    assert all(peer.memory and peer.memory > 2**20 for group in groups for peer in group.peers)
    shown = gradstream("show", str(job.id)).stdout
    assert re.search(r"peer +computes +cores +own memory", shown)
    assert re.search(r"worker-1/0 +lead +\d+%", shown)
    listed = json.loads(gradstream("show", str(job.id), "--json").stdout)["groups"]
    assert [group["label"] for group in listed] == ["worker-0", "worker-1"]
    assert set(listed[0]["peers"][1]) == {"number", "label", "node", "at", "compute", "cpu", "memory"}
    assert listed[0]["peers"][1]["node"] is None, "it runs on its group's own machine"


@pytest.mark.more
def test_the_other_ends_of_wait(gradstream: Gradstream, submit: Callable[..., Job]) -> None:
    endless = str(submit(FOREVER, "name=endless").id)
    assert gradstream("wait", endless, "--timeout", "200ms").returncode == 124
    assert gradstream("wait", endless, "--timeout", "0.2").returncode == 124
    assert gradstream("wait", endless, "--timeout", "-1").returncode == 2
    assert gradstream("stop", endless).returncode == 0
    assert gradstream("wait", endless).returncode == 11
    assert gradstream("wait", str(submit(FOREVER, "timeout=1s").id)).returncode == 12
    assert gradstream("wait", "nothing-of-this-name").returncode == 4


@pytest.mark.more
def test_wait_outlives_a_killed_api(
    environment: dict[str, str], gradstream: Gradstream, client: Client, submit: Callable[..., Job]
) -> None:
    job = submit(FOREVER, "name=outlived")
    command = [*COMMAND, "wait", str(job.id)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr
        assert "waiting for its end" in waiting.stderr.readline()
        api_process().kill()
        said = waiting.stderr.readline()
        client.stop(job.id)
        assert waiting.wait(TIMEOUT) == 11
    assert "trying again" in said


@pytest.mark.more
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_detaches_and_the_job_goes_on(
    number: signal.Signals,
    code: int,
    environment: dict[str, str],
    client: Client,
) -> None:
    command = [*COMMAND, "submit", str(LINE / "job.yaml"), "--set", FOREVER, "--set", "name=detached", "--follow"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        id = process.stdout.readline().strip()
        for line in process.stderr:
            if line.startswith("running"):
                break
        process.send_signal(number)
        said = process.stderr.read()
        assert process.wait(TIMEOUT) == code
    assert f"gradstream follow {id}" in said
    with subprocess.Popen([*COMMAND, "wait", id], env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert process.stderr.readline() == "detached is running; waiting for its end\n"
        process.send_signal(number)
        said = process.stderr.read()
        assert process.wait(TIMEOUT) == code
    assert f"gradstream wait {id}" in said
    assert client.job(id).status == "running"
    client.stop(id)
    assert client.wait(id, timeout=JOB_TIMEOUT).status == "cancelled"


def test_ctrl_c_ends_train_as_cancelled_and_keeps_the_model(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = ["--set", FOREVER, "--set", "checkpoint.every=0.5"]
    command = [*COMMAND, "train", str(LINE / "job.yaml"), *settings, "--out", str(out), "--json"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        eventually((out / "store" / "1" / "checkpoints" / "1" / "manifest.json").exists, "the first checkpoint")
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=TIMEOUT)
    result = json.loads(stdout)
    assert (process.returncode, result["status"]) == (11, "cancelled")
    assert Path(result["model_path"]).is_file()


def test_lists_and_details(gradstream: Gradstream, succeeded: Job) -> None:
    listed = json.loads(gradstream("jobs", "--status", "succeeded", "--query", "succeeded", "--json").stdout)
    assert str(succeeded.id) in [job["id"] for job in listed["items"]]
    assert str(succeeded.id)[:8] in gradstream("jobs").stdout
    shown = gradstream("show", str(succeeded.id))
    for word in (
        "succeeded",
        "worker-1",
        "model.safetensors",
        f"/jobs/{succeeded.id}",
        f"Python {platform.python_version()}, torch ",
    ):
        assert word in shown.stdout
    [node] = json.loads(gradstream("nodes", "--json").stdout)["items"]
    assert node["slots"] == 8
    assert node["name"] in gradstream("nodes").stdout


def test_metrics_as_table_json_and_csv(gradstream: Gradstream, succeeded: Job) -> None:
    id = str(succeeded.id)
    assert "train/staleness" in gradstream("metrics", id).stdout
    series = json.loads(gradstream("metrics", id, "--name", "eval/loss", "--json").stdout)
    assert [one["source"] for one in series["eval/loss"]] == ["evaluator"]
    rows = list(csv.DictReader(io.StringIO(gradstream("metrics", id, "--csv", "--name", "train/loss").stdout)))
    assert {row["source"] for row in rows} == {"worker-0", "worker-1"}
    assert float(rows[0]["value"]) > 0


def test_download_keeps_other_files_unless_forced(gradstream: Gradstream, succeeded: Job, tmp_path: Path) -> None:
    id = str(succeeded.id)
    made = tmp_path / f"succeeded-{id[:8]}"
    done = gradstream("download", id)
    assert done.returncode == 0, done.stderr
    paths = {tmp_path / line for line in done.stdout.splitlines()}
    assert made / "model.safetensors" in paths
    assert all(path.is_file() for path in paths)
    (made / "job.yaml").write_text("mine")
    refused = gradstream("download", id)
    assert refused.returncode == 1
    assert "job.yaml" in refused.stderr
    assert (made / "job.yaml").read_text() == "mine"
    assert gradstream("download", id, "job.yaml", "--force").returncode == 0
    assert gradstream("download", id, "nothing").returncode == 4


def test_download_never_replaces_a_job_file_beside_sources(gradstream: Gradstream, succeeded: Job, tmp_path: Path) -> None:
    sources = tmp_path / "succeeded"
    sources.mkdir()
    (sources / "job.yaml").write_text("# mine\n")
    (sources / "line.py").write_text("x = 1\n")
    id = str(succeeded.id)
    assert gradstream("download", id).returncode == 0, "a folder called like the job is not in the way"
    for options in ([], ["--force"], ["job.yaml", "--force"]):
        refused = gradstream("download", id, *options, "--into", str(sources))
        assert refused.returncode == 1
        assert "is another job file and is kept" in refused.stderr
    assert gradstream("download", id, "model.safetensors", "--into", str(sources)).returncode == 0
    assert (sources / "job.yaml").read_text() == "# mine\n"
    found = marker.read_marker(sources)
    assert found is not None
    assert (found.kind, found.holds) == ("files", ("model.safetensors",)), "which no bundle takes in"


def test_the_code_of_a_job_comes_back_and_can_be_submitted_again(gradstream: Gradstream, succeeded: Job, tmp_path: Path) -> None:
    id = str(succeeded.id)
    done = gradstream("download", id, "--code")
    assert done.returncode == 0, done.stderr
    code = tmp_path / f"succeeded-{id[:8]}" / "code"
    assert {tmp_path / line for line in done.stdout.splitlines()} == set(code.rglob("*.*"))
    assert pack(code).hash == succeeded.bundle
    assert gradstream("download", id, "--code").returncode == 1, "nothing is replaced"


def test_logs_stay_in_whole_lines_with_their_process(gradstream: Gradstream, succeeded: Job) -> None:
    lines = gradstream("logs", str(succeeded.id), "--follow").stdout.splitlines()
    only = gradstream("logs", str(succeeded.id), "--process", "worker-0", "--json").stdout.splitlines()
    assert all(" | " in line for line in lines)
    assert {json.loads(line)["label"] for line in only} <= {"worker-0"}


def test_logs_of_a_process_that_is_not_there_name_those_that_are(gradstream: Gradstream, succeeded: Job) -> None:
    done = gradstream("logs", str(succeeded.id), "--process", "worker-7")
    assert (done.returncode, done.stdout) == (4, "")
    assert "worker-0" in done.stderr


def test_login_keeps_a_token_that_works(gradstream: Gradstream, credentials: Credentials, environment: dict[str, str]) -> None:
    wrong = gradstream("login", credentials.url, stdin="wrong\n")
    assert wrong.returncode == 3
    kept = Path(environment["GRADSTREAM_CONFIG_DIR"]) / "credentials.json"
    assert not kept.exists()
    done = gradstream("login", credentials.url, stdin=f"{credentials.token}\n")
    assert done.returncode == 0, done.stderr
    assert credentials.token not in done.stdout + done.stderr
    assert gradstream("jobs").returncode == 0
    kept.unlink()


@pytest.mark.parametrize("overrides", [["strategy.name=adagg"], ["roles.worker.count=0"]])
def test_a_mistake_in_the_job_file_reaches_nobody(gradstream: Gradstream, overrides: list[str]) -> None:
    done = gradstream("submit", LINE / "job.yaml", *(word for one in overrides for word in ("--set", one)))
    assert done.returncode == 2
    assert f"/{overrides[0].partition('=')[0].replace('.', '/')}" in done.stderr
    assert "Traceback" not in done.stderr

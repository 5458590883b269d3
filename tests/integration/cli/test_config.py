"""`gradstream config`: a job file comes back as it was sent, and as it was understood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradstream import jobfile
from gradstream.client import Client, Job
from tests.integration.cli.shared import LINE, Gradstream
from tests.support import JOB_TIMEOUT


@pytest.mark.more
def test_the_text_comes_back_with_its_comments(gradstream: Gradstream, client: Client, tmp_path: Path) -> None:
    text = "# tried after the talk of Tuesday\n" + (LINE / "job.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(text)
    set_over = ("--set", "name=as-sent", "--set", "roles.worker.count=1")
    done = gradstream("submit", "mine.yaml", "--code", LINE, *set_over)
    assert done.returncode == 0, done.stderr
    id = done.stdout.strip()
    sent = gradstream("config", id, "--as-sent")
    assert (sent.returncode, sent.stdout) == (0, text)
    assert "--set roles.worker.count=1" in sent.stderr
    config = json.loads(gradstream("config", id, "--json").stdout)
    assert config["overrides"] == ["name=as-sent", "roles.worker.count=1"]
    for length in ((), ("--full",)):
        printed = gradstream("config", id, *length).stdout
        assert jobfile.load(printed) == jobfile.load(text, config["overrides"])
    assert gradstream("config", id, "--full", "--as-sent").returncode == 2
    client.wait(id, timeout=JOB_TIMEOUT)


def test_a_job_that_was_sent_without_a_text_has_none(gradstream: Gradstream, succeeded: Job) -> None:
    done = gradstream("config", str(succeeded.id), "--as-sent")
    assert (done.returncode, done.stdout) == (4, "")
    assert "leave out --as-sent" in done.stderr
    assert jobfile.load(gradstream("config", str(succeeded.id)).stdout).name == "succeeded"

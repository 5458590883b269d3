"""`gradstream diff`: settings, environment and code of two jobs, and the code of one against its commit."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from gradstream import jobfile
from gradstream.client import Client
from tests.integration.cli.shared import LINE, Gradstream
from tests.support import JOB_TIMEOUT


@pytest.mark.more
def test_two_jobs_differ_in_settings_and_lines_of_code(client: Client, gradstream: Gradstream, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(LINE, folder)
    [module] = folder.glob("*.py")
    module.write_text(module.read_text() + "\nCHANGED = True\n")
    short = ("stop={steps: 4}", "name=diff-one")
    one = client.submit(jobfile.load(LINE / "job.yaml", short), code=LINE)
    other = client.submit(jobfile.load(LINE / "job.yaml", (*short, "name=diff-two", "batch_size=7")), code=folder)
    assert {client.wait(job.id, timeout=JOB_TIMEOUT).status for job in (one, other)} == {"succeeded"}

    found = json.loads(gradstream("diff", "diff-one", "diff-two", "--json").stdout)
    assert [each["name"] for each in found["settings"]] == ["batch_size"]
    assert found["settings"][0]["values"][1] == 7
    assert found["environment"] == [], "one machine"
    [difference] = found["code"]
    assert (difference["path"], difference["change"], difference["lines"][-1]) == (module.name, "changed", "+CHANGED = True")

    said = gradstream("diff", "diff-one", "diff-two")
    assert said.returncode == 0
    lines = [line.rstrip() for line in said.stdout.splitlines()]
    assert f"changed {module.name}" in lines
    assert "  +CHANGED = True" in lines
    assert any(line.split()[0] == "batch_size" for line in lines if line)
    same = gradstream("diff", "diff-one", "diff-one")
    assert (same.returncode, same.stdout) == (0, "")
    assert "same settings, environment and code" in same.stderr
    unknown = gradstream("diff", "diff-one", "no-such-job")
    assert unknown.returncode == 4
    assert "no-such-job" in unknown.stderr


def test_the_code_of_a_job_differs_from_its_commit(client: Client, gradstream: Gradstream, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    shutil.copytree(LINE, folder)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(("git", *who, *words), cwd=folder, check=True)
    client.submit(jobfile.load(folder / "job.yaml", ("stop={steps: 1}", "name=committed")), code=folder)
    [module] = folder.glob("*.py")
    module.write_text(module.read_text() + "\nCHANGED = True\n")
    (folder / "more.py").write_text("")
    dirty = client.submit(jobfile.load(folder / "job.yaml", ("stop={steps: 1}", "name=uncommitted")), code=folder)
    assert [(each.path, each.change) for each in client.uncommitted_changes(dirty)] == [
        (module.name, "changed"),
        ("more.py", "added"),
    ]

    said = gradstream("diff", "uncommitted")
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[0] == f"changed {module.name}"
    assert lines[-2:] == ["  +CHANGED = True", "added more.py"]
    found = json.loads(gradstream("diff", "uncommitted", "--json").stdout)
    assert (found["origin"]["dirty"], found["code"][0]["lines"][-1]) == (True, "+CHANGED = True")
    clean = gradstream("diff", "committed")
    assert (clean.returncode, clean.stdout) == (0, "")
    assert "and its files were as they are there" in clean.stderr

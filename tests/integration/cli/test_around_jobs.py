"""Commands about more than one job, and about nodes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from gradstream import jobfile
from gradstream.client import Client, Job
from gradstream.local.platform import LocalPlatform
from tests.integration.cli.shared import LINE, Gradstream
from tests.platforms import register_machine, token_status
from tests.support import JOB_TIMEOUT, eventually


@pytest.mark.more
def test_compare_tells_when_each_job_reached_a_target(gradstream: Gradstream, client: Client, succeeded: Job) -> None:
    spec = jobfile.load(LINE / "job.yaml", ["name=learns-nothing", "strategy.lr=0.0000001"])
    slow = client.wait(client.submit(spec, code=LINE).id, timeout=JOB_TIMEOUT)
    [own] = client.targets([succeeded.id], "eval/loss", at_most=1e9).items
    assert own.best is not None
    target = ("--metric", "eval/loss", "--target", str(own.best))
    done = gradstream("compare", slow.name, succeeded.name, *target, "--json")
    assert done.returncode == 0, done.stderr
    first, other = json.loads(done.stdout)["items"]
    assert (first["job"], other["job"]) == (str(succeeded.id), str(slow.id)), "the quickest first"
    assert first["reached"]["value"] <= own.best
    assert other["reached"] is None
    table = gradstream("compare", slow.name, succeeded.name, *target).stdout.splitlines()
    assert "succeeded" in table[1]
    assert "never" in table[2]
    assert "best" in table[2]


@pytest.mark.more
def test_compare_says_what_it_cannot_do(gradstream: Gradstream, succeeded: Job) -> None:
    assert gradstream("compare", "nothing-of-this-name", "--target", "1").returncode == 4
    unknown = gradstream("compare", succeeded.name, "--metric", "user/thing", "--target", "1")
    assert unknown.returncode == 2
    assert "--at-least" in unknown.stderr
    said = gradstream("compare", succeeded.name, "--metric", "user/thing", "--target", "1", "--at-least")
    assert "nothing measured" in said.stdout


def test_importance_says_what_it_lacks(gradstream: Gradstream, client: Client, succeeded: Job) -> None:
    done = gradstream("importance", succeeded.name, "--figure", "min:eval/loss", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == client.importance([succeeded.id], "min:eval/loss").as_dict()
    said = gradstream("importance", succeeded.name, "--figure", "seconds")
    assert said.stdout == ""
    assert "Only 1 ended run has a finite value of this figure. Compare at least 8" in said.stderr
    assert gradstream("importance", succeeded.name, "--figure", "user/never").stderr.startswith("No ended run has")


def test_a_node_is_drained_and_resumed(gradstream: Gradstream, client: Client, submit: Callable[..., Job]) -> None:
    [node] = client.nodes()
    try:
        drained = gradstream("node", "drain", node.name, "--json")
        assert drained.returncode == 0, drained.stderr
        assert f"{node.name} drains" in drained.stderr
        assert json.loads(drained.stdout)["draining_since"]
        waits = submit("name=waits-for-a-node")
        assert client.job(waits.id, wait=20, since=waits.seq).reason != "placed"
        assert client.job(waits.id).status == "queued"
    finally:
        resumed = gradstream("node", "resume", node.name)
    assert f"{node.name} takes processes" in resumed.stderr
    assert client.wait(waits.id, timeout=JOB_TIMEOUT).status == "succeeded"
    assert gradstream("node", "drain", "no-such-node").returncode == 4


def test_a_node_rotates_its_credential(gradstream: Gradstream, client: Client) -> None:
    [node] = client.nodes()
    rotates = gradstream("node", "rotate", node.name, "--json")
    assert rotates.returncode == 0, rotates.stderr
    assert f"{node.name} makes a new credential within seconds" in rotates.stderr
    assert json.loads(rotates.stdout)["rotating_since"]
    eventually(lambda: client.node(node.name).rotating_since is None, "the new credential")
    assert gradstream("node", "rotate", "no-such-node").returncode == 4


def test_a_machine_that_is_gone_is_removed(gradstream: Gradstream, platform: LocalPlatform, client: Client) -> None:
    token = register_machine(platform, "gone")
    assert token_status(platform, token) == 200
    removed = gradstream("node", "remove", "gone", "--json")
    assert (removed.returncode, json.loads(removed.stdout)) == (0, {"removed": "gone"})
    assert "gone is removed; jobs that ran there keep its name" in removed.stderr
    assert "gone" not in gradstream("nodes").stdout
    assert token_status(platform, token) == 403
    assert gradstream("node", "remove", "gone").returncode == 4
    register_machine(platform, "gone")
    client.remove_node("gone")
    assert [node.name for node in client.nodes() if node.name == "gone"] == []


def test_storage_says_what_is_kept_and_removes_what_nobody_needs(
    gradstream: Gradstream, platform: LocalPlatform, succeeded: Job
) -> None:
    shown = gradstream("storage").stdout
    assert "checkpoints" in shown
    assert str(succeeded.id)[:8] in shown
    assert json.loads(gradstream("storage", "--json").stdout)["disk_free_bytes"] > 0
    left = platform.folder.path / "files" / "incoming" / "left-behind"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"x" * 2048)
    os.utime(left, (0, 0))
    dry = gradstream("storage", "collect", "--dry-run")
    assert (left.exists(), "1 thing of 2.0 KiB would go" in dry.stderr, "left-behind" in dry.stdout) == (True, True, True)
    done = gradstream("storage", "collect", "--json")
    assert (left.exists(), "1 thing of 2.0 KiB removed" in done.stderr) == (False, True)
    assert json.loads(done.stdout)["items"] == [{"kind": "upload", "count": 1, "bytes": 2048, "names": ["left-behind"]}]
    assert "nothing to remove" in gradstream("storage", "collect").stderr

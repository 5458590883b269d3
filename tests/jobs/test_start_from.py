"""A job that starts from the newest checkpoint of a job that still runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream.client import Job
from gradstream.metrics.checkpoints import CHECKPOINT_SECONDS
from gradstream.process.saving.state_file import read_state
from tests.platforms import Lab
from tests.support import eventually
from tests.userland.remembers import make_model


def submit(lab: Lab, name: str, folder: Path, **fields: Any) -> Job:
    folder.mkdir()
    folder.chmod(0o777)  # isolated jobs may have an account of their own
    workload = {"entrypoint": "remembers:Remembers", "args": {"folder": str(folder), "holds_at": fields.pop("holds_at")}}
    return lab.submit(name, workload=workload, strategy={"name": "sync", "lr": 0.0001}, **fields)


def begun(folder: Path, count: int) -> list[dict[str, Tensor]]:
    """What each process of a job began with, as soon as there are so many."""
    found = eventually(lambda: files if len(files := sorted(folder.glob("*.pt"))) == count else None, f"{count} processes")
    return [torch.load(file, weights_only=True) for file in found]


def let_go(folder: Path, until: int = 0) -> None:
    """Let the processes of a job go on, until each has had so many mini-batches; 0: to the end."""
    (folder / "next").write_text(str(until))
    (folder / "next").rename(folder / "go")


def stored(lab: Lab, job: Job) -> list[int]:
    """The checkpoints that the servers know to be stored."""
    return [point.step for point in lab.points(job, CHECKPOINT_SECONDS.name)]


def in_checkpoint(folder: Path) -> dict[str, Tensor]:
    """Parameters and buffers of the center in these files, put together by hand."""
    shards = [read_state(folder / f"shard-{k}.safetensors") for k in range(2)]
    parts = [shard["shard"]["center"]["theta"] for shard in shards]
    assert all(len(part) for part in parts), "both shards have a slice"
    theta, found, start = torch.cat(parts), {}, 0
    for name, p in make_model().named_parameters():
        if p.requires_grad:
            found[name] = theta[start : start + p.numel()].view(p.shape)
            start += p.numel()
    assert start == len(theta)
    last = shards[0]["shard"]["center"]["buffers"]["last"]
    assert {examples for examples, _, _ in last.values()} == {32}
    mean = sum(floats for _, floats, _ in last.values()) / 2
    ints = last[0][2]
    return found | {"2.running_mean": mean[:1024], "2.running_var": mean[1024:], "2.num_batches_tracked": ints[0]}


@pytest.mark.more
def test_a_job_starts_from_the_newest_checkpoint_of_one_that_runs_and_does_so_again(lab: Lab, tmp_path: Path) -> None:
    roles = {"worker": {"count": 2, "device": "cpu"}, "server": {"count": 2}}
    first = submit(
        lab, "goes-on", tmp_path / "first", holds_at=6, checkpoint={"every": "1 epochs"}, stop={"epochs": 4}, roles=roles
    )
    frozen = begun(tmp_path / "first", 2)[0]["0.weight"]
    eventually(lambda: stored(lab, first) == [1], "its first checkpoint")  # servers skip those that are due until then
    let_go(tmp_path / "first", until=10)
    eventually(lambda: stored(lab, first) == [1, 2], "its second checkpoint")
    second = submit(
        lab,
        "takes-over",
        tmp_path / "second",
        holds_at=1,
        stop={"epochs": 1},
        roles=roles,
        seed=2,
        start_from={"job": "goes-on", "checkpoint": "last"},
    )
    taken = second.started_from
    assert taken is not None
    assert (taken.job, taken.attempt, taken.number, taken.samples) == (first.id, 1, 2, 512)
    assert not lab.client.job(first.id).ended
    wanted = in_checkpoint(lab.platform.folder.path / "files" / "jobs" / str(first.id) / "1" / "checkpoints" / "2") | {
        "0.weight": frozen
    }
    let_go(tmp_path / "first")
    assert lab.ended(first).status == "succeeded"
    lab.client.delete(first.id)
    for state in begun(tmp_path / "second", 2):
        assert all(torch.equal(state[name], tensor) for name, tensor in wanted.items()), "bit for bit"
    lab.kill("worker-1")  # before its first checkpoint: the next attempt begins at the beginning
    for state in begun(tmp_path / "second", 4):
        assert all(torch.equal(state[name], tensor) for name, tensor in wanted.items())
    let_go(tmp_path / "second")
    ended = lab.ended(second)
    assert (ended.status, ended.attempt, ended.progress.version, ended.progress.samples) == ("succeeded", 2, 4, 256)
    assert ended.started_from == taken

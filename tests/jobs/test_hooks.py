"""The hooks of user code in a real job: when they are called, and with what."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from gradstream.client import Job
from tests.platforms import Lab
from tests.support import eventually

EPOCHS, PER_EPOCH = 6, 4
"""Passes, and mini-batches of a worker in each."""


def submit(lab: Lab, folder: Path, holds_at: int) -> Job:
    folder.mkdir()
    folder.chmod(0o777)  # isolated jobs may have an account of their own
    return lab.submit(
        "hooks",
        workload={"entrypoint": "remembers:Remembers", "args": {"folder": str(folder), "holds_at": holds_at}},
        strategy={"name": "sync", "lr": 0.0001},
        checkpoint={"every": "1.4 epochs"},
        stop={"epochs": EPOCHS},
    )


def calls(folder: Path) -> dict[str, list[tuple[str, int | None]]]:
    """Of each process, in the order in which they came: the hook and its number; `loss` without one."""
    return {file.stem: [tuple(json.loads(line)) for line in file.open()] for file in folder.glob("*.jsonl")}


def committed(lab: Lab, job: Job, attempt: int) -> list[int]:
    return [
        event.data["checkpoint"] for event in lab.client.events(job.id, kinds=["checkpoint"]) if event.data["attempt"] == attempt
    ]


def follows_the_passes(found: list[tuple[str, int | None]], first: int) -> bool:
    """`on_epoch` is called before the first mini-batch of each pass, from number `first`, `on_epoch_end` after its last one, and
    neither at another time. `on_train_start` comes first, and `on_train_end` last."""
    training = [(hook, number) for hook, number in found if hook not in ("loss", "on_checkpoint")]
    pairs = [(hook, epoch) for epoch in range(first, EPOCHS) for hook in ("on_epoch", "on_epoch_end")]
    if training != [("on_train_start", None), *pairs, ("on_train_end", None)]:
        return False
    passes: list[tuple[int | None, int]] = []
    for hook, number in found:
        if hook == "on_epoch":
            passes.append((number, 0))
        elif hook == "loss":
            passes[-1] = (passes[-1][0], passes[-1][1] + 1)
        elif hook == "on_epoch_end" and number != first and passes[-1][1] != PER_EPOCH:
            return False
    whole = all(count == PER_EPOCH for _, count in passes[1:])
    return whole and [number for number, _ in passes] == list(range(first, EPOCHS))


def test_each_worker_hears_of_each_pass_and_of_each_checkpoint(lab: Lab, tmp_path: Path) -> None:
    job = lab.ended(submit(lab, tmp_path / "notes", holds_at=0))
    assert job.status == "succeeded", job.message
    found = calls(tmp_path / "notes")
    assert len(found) == 2, "each worker, and no other process"
    for each in found.values():
        assert each[:2] == [("on_train_start", None), ("on_epoch", 0)]
        assert follows_the_passes(each, first=0)
        assert sum(hook == "loss" for hook, _ in each) == EPOCHS * PER_EPOCH
    taken = [[number for hook, number in each if hook == "on_checkpoint"] for each in found.values()]
    assert taken[0] == taken[1] != []
    assert all(later > earlier for earlier, later in pairwise(taken[0]))
    assert set(committed(lab, job, 1)) - {0} <= set(taken[0]), "the last one, of no number, is taken when training is over"


@pytest.mark.more
def test_after_a_resume_a_pass_that_had_begun_is_told_of_again(lab: Lab, tmp_path: Path) -> None:
    job = submit(lab, tmp_path / "notes", holds_at=10)
    eventually(lambda: 1 in committed(lab, job, 1), "its first checkpoint")
    before = set(calls(tmp_path / "notes"))
    lab.kill("worker-0")  # under bsp nobody trains on without it, so no later checkpoint is made
    (tmp_path / "notes" / "go").touch()
    assert lab.ended(job).status == "succeeded"
    after = {pid: each for pid, each in calls(tmp_path / "notes").items() if pid not in before}
    assert len(after) == 2, "a new attempt"
    assert lab.client.job(job.id).attempt == 2
    for each in after.values():
        assert each[:2] == [("on_train_start", None), ("on_epoch", 1)], "the checkpoint is of the middle of the second pass"
        assert follows_the_passes(each, first=1)

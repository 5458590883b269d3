"""Workers that are groups and train embedding tables, on a real platform."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gradstream.api.jobs import Job
from tests.platforms import Lab, slow_until
from tests.support import eventually

CACHED = {"default": {"rule": {"name": "adagrad", "lr": 0.1}, "cache": {"rows": 300, "bound": 0}}}


def clicks(lab: Lab, name: str, group: Any, args: dict[str, Any] | None = None, **more: Any) -> Job:
    return lab.submit(
        name,
        workload={"entrypoint": "planted_clicks:Clicks", "args": {"ahead": True, **(args or {})}},
        strategy={"name": "sync", "lr": 0.1},
        batch_size=32,
        roles={"worker": {"count": 2, "group": group, "device": "cpu"}, "server": {"count": 2}},
        tables=CACHED,
        stop={"epochs": 2},
        checkpoint={"every": "0.5 epochs"},
        **more,
    )


def trained(lab: Lab, job: Job, folder: Path) -> dict[str, torch.Tensor]:
    """The model and all rows, by file and name."""
    folder.mkdir()
    files = [artifact.name for artifact in lab.client.artifacts(job.id) if artifact.name.endswith(".safetensors")]
    assert {"model.safetensors", "tables-0.safetensors", "tables-1.safetensors"} <= set(files)
    loaded = [(file, load_file(lab.client.download(job.id, file, into=folder))) for file in files]
    return {f"{file} {name}": tensor for file, tensors in loaded for name, tensor in tensors.items()}


@pytest.mark.more
def test_a_group_trains_the_model_and_the_rows_of_as_many_parts(lab: Lab, tmp_path: Path) -> None:
    jobs = [clicks(lab, "grouped", {"fsdp": 2}), clicks(lab, "in-parts", 1, accumulate=2)]
    group, parts = (lab.ended(job) for job in jobs)
    for job in (group, parts):
        assert (job.status, job.attempt) == ("succeeded", 1), lab.messages(job)
        assert job.progress.samples == job.progress.total_samples == 2 * 2000
    found, expected = trained(lab, group, tmp_path / "group"), trained(lab, parts, tmp_path / "parts")
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name
    late = [sum(point.value for point in lab.points(job, "table/asked_late")) for job in (group, parts)]
    assert late[0] == late[1], "rows that no push had asked for: no key twice"


@pytest.mark.more
def test_a_killed_peer_costs_no_bit_of_a_row(lab: Lab, tmp_path: Path) -> None:
    """The job begins again at a checkpoint, which has the rows of all servers."""
    go = tmp_path / "go"
    job = clicks(lab, "killed", {"fsdp": 2}, slow_until(go, 0.2))
    undisturbed = lab.ended(clicks(lab, "undisturbed", 1, accumulate=2))
    eventually(lambda: "checkpoint 1 " in lab.messages(job) or None, "the first checkpoint")
    [peer] = eventually(lambda: lab.pids("worker-1/1"), "a process worker-1/1")
    os.kill(peer, signal.SIGKILL)
    eventually(lambda: "peer 1 of worker-1 has ended" in lab.messages(job) or None, "the reason")
    go.touch()
    job = lab.ended(job)
    assert (job.status, job.attempt) == ("succeeded", 2), lab.messages(job)
    found, expected = trained(lab, job, tmp_path / "killed"), trained(lab, undisturbed, tmp_path / "undisturbed")
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name

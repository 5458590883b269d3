"""Jobs that learn from a folder while it grows: waiting, resuming and stopping at the boundary, and files that come late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gradstream.api.history import JobExport
from gradstream.api.jobs import Job
from tests.jobs.test_click_model import write_clicks
from tests.platforms import Lab
from tests.support import eventually

ROWS = 1000
"""Examples of a file: 10 mini-batches for each of two workers."""


def put(folder: Path, number: int) -> None:
    file = folder / "train" / f"{number}.parquet"
    write_clicks(file, number, ROWS)
    file.with_name(f"{file.name}.done").touch()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train").mkdir()
    write_clicks(tmp_path / "eval.parquet", 99, 500)
    return tmp_path


def submit(lab: Lab, name: str, folder: Path, **fields: Any) -> Job:
    args = {"folder": str(folder), "follows": True}
    given = {
        "strategy": {"name": "sync", "lr": 0.1},
        "batch_size": 50,
        "checkpoint": {"every": 0.5},
        "tables": {"default": {"rule": {"name": "adagrad", "lr": 0.3}}},
        "stop": {"steps": 30},
    }
    return lab.submit(name, workload={"entrypoint": "parquet_clicks:ParquetClicks", "args": args}, **given | fields)


def committed(lab: Lab, job: Job) -> list[JobExport]:
    return [each for each in lab.client.exports(job) if each.state == "committed"]


def tensors(lab: Lab, job: Job, into: Path) -> dict[str, dict[str, torch.Tensor]]:
    into.mkdir()
    names = [artifact.name for artifact in lab.client.artifacts(job.id) if artifact.name.endswith(".safetensors")]
    return {name: load_file(lab.client.download(job.id, name, into=into)) for name in names if name != "tensors.safetensors"}


@pytest.mark.more
def test_a_job_waits_resumes_and_learns_each_example_once(lab: Lab, folder: Path) -> None:
    put(folder, 2)
    tables = {"default": {"keep": {"score": 2.0}, "shrink": "1 passes"}}
    fields: dict[str, Any] = {"tables": tables, "export": {"every": "1 passes"}}
    job = submit(lab, "follows", folder, **fields)
    lab.trains(job, ROWS)
    exported = eventually(lambda: committed(lab, job), "the export of the first pass, before there is a second")
    assert [(each.passes, each.samples) for each in exported] == [(1, ROWS)]
    known = lab.messages(job).count("checkpoint ")
    eventually(lambda: lab.messages(job).count("checkpoint ") > known or None, "a checkpoint of workers that wait for data")
    lab.kill("worker-1")
    eventually(lambda: lab.client.job(job.id).attempt == 2 or None, "another attempt")
    put(folder, 3)
    lab.trains(job, 2 * ROWS)
    put(folder, 1)
    eventually(lambda: "1 file of the followed folder came late" in lab.messages(job) or None, "the alert of a late file")
    put(folder, 4)
    job = lab.ended(job)
    assert (job.status, job.progress.samples) == ("succeeded", 3 * ROWS), lab.messages(job)
    assert {point.rank for point in lab.points(job, "data/behind")} == {0, 1}
    assert {each.passes: each.samples for each in committed(lab, job)} == {number: number * ROWS for number in (1, 2, 3)}
    calm = lab.ended(submit(lab, "all-there", folder, **fields))
    assert lab.points(calm, "table/evicted")[-1].value > 0
    for figure in ("pass/auc", "pass/log_loss"):
        passes = [[(point.step, point.value) for point in lab.points(each, figure)] for each in (calm, job)]
        assert passes[0] == passes[1], "each example counts once in the pass of its file"
        assert [step for step, _ in passes[0]] == [0, 1, 2]
    expected = tensors(lab, calm, folder / "calm")
    got = tensors(lab, job, folder / "got")
    assert set(expected) == {"model.safetensors", "tables-0.safetensors", "tables-1.safetensors"}
    for name, of_file in expected.items():
        for key, values in of_file.items():
            assert torch.equal(got[name][key], values), f"{name}: {key}"


def test_a_job_that_waits_for_its_first_file_can_be_stopped(lab: Lab, folder: Path) -> None:
    job = submit(lab, "idle", folder, strategy={"name": "async", "lr": 0.1}, stop={"never": True})
    eventually(lambda: lab.points(job, "data/behind") or None, "workers that wait")
    lab.client.stop(job.id)
    job = lab.ended(job)
    assert job.status == "cancelled", lab.messages(job)


@pytest.mark.more
def test_a_job_that_never_ends_learns_what_comes_until_it_is_stopped(lab: Lab, folder: Path) -> None:
    job = submit(lab, "never", folder, strategy={"name": "async", "lr": 0.1}, stop={"never": True})
    for number in (1, 2, 3):
        put(folder, number)
        lab.trains(job, number * ROWS)
    assert lab.client.job(job.id).status == "running"
    lab.client.stop(job.id)
    job = lab.ended(job)
    assert (job.status, job.progress.samples) == ("cancelled", 3 * ROWS), lab.messages(job)
    assert job.progress.total_samples is None
    assert "model.safetensors" in tensors(lab, job, folder / "got")

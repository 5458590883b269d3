"""The model, results and exports of a job without servers are those of the same job with servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gradstream.client import Client, Job
from gradstream.serving import Tables
from tests.integration.cli.shared import FOREVER, Gradstream
from tests.support import eventually

WITHOUT, WITH, BY_GLOO = "roles.server.count=0", "roles.server.count=2", "roles.server={count: 0, collective: gloo}"
KEEPS = ("best={metric: eval/loss}", "evaluate.every=1 epochs", "optimizer={name: adam}", "strategy.lr=0.01", "stop={epochs: 6}")


def downloaded(gradstream: Gradstream, job: Job, folder: Path) -> dict[str, Path]:
    printed = gradstream("download", str(job.id), "--into", str(folder))
    assert printed.returncode == 0, printed.stderr
    return {Path(line).name: Path(line) for line in printed.stdout.splitlines()}


def scores(client: Client, job: Job) -> tuple[object, ...]:
    best = next(artifact.note for artifact in client.artifacts(job.id) if artifact.name == "best.safetensors")
    assert best is not None
    return best, job.progress.eval, job.progress.samples, job.progress.version


def assert_same_tensors(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], values) for name, values in other.items())


@pytest.mark.more
def test_results_and_exports_of_passes_are_those_of_servers(
    gradstream: Gradstream, client: Client, submit: Callable[..., Job], tmp_path: Path
) -> None:
    found: dict[str, Any] = {}
    for servers in (WITHOUT, WITH):
        job = submit(servers, "export={every: 2 passes}", *KEEPS)
        ended = client.wait(job, timeout=60)
        assert ended.status == "succeeded", ended.message
        files = downloaded(gradstream, job, tmp_path / f"files-{servers}")
        assert {"model.safetensors", "best.safetensors", "job.yaml", "metrics.parquet"} <= files.keys()
        exports = client.exports(job)
        assert [each.state for each in exports] == ["committed"] * len(exports)
        folder = tmp_path / f"exports-{servers}"
        client.download_exports(job, into=folder)
        assert len(exports) >= 2, "of a pass, and of the end"
        exported = exports[0].base, exports[0].version, exports[0].samples, exports[0].passes  # others wait for commits before
        found[servers] = ended, files, exported, Tables(folder).state_dict()
    (one, files, exported, last), (other, more, listed, latest) = found.values()
    assert files.keys() == more.keys()
    for name in ("model.safetensors", "best.safetensors"):
        assert_same_tensors(load_file(files[name]), load_file(more[name]))
    assert scores(client, one) == scores(client, other)
    assert exported == listed
    assert_same_tensors(last, latest)
    assert_same_tensors(last, load_file(files["model.safetensors"]))


@pytest.mark.parametrize("servers", [WITHOUT, pytest.param(BY_GLOO, marks=pytest.mark.more)])
def test_exports_are_asked_for_while_the_workers_hold_the_shards(
    servers: str, gradstream: Gradstream, client: Client, submit: Callable[..., Job], tmp_path: Path
) -> None:
    job = submit(FOREVER, "name=shards-of-workers", "export={every: 1h}", servers)
    eventually(lambda: client.job(job).progress.samples, "the first samples")
    first = gradstream("export", str(job.id), "--json")
    assert json.loads(first.stdout)["number"] == 1, first.stderr
    client.stop(job)
    folder = tmp_path / "followed"
    followed = gradstream("exports", str(job.id), "--follow", str(folder))
    assert followed.stdout.splitlines()[-1] == f"{folder / 'export-2'}", followed.stderr
    model = load_file(client.download(job, "model.safetensors", into=tmp_path))
    assert_same_tensors(Tables(folder).state_dict(), model)

"""A model that is stored in parts, from its training to the job that starts from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

import gradstream as library
from gradstream.client import Client, Job
from gradstream.process.saving.model_files import tensor_files
from tests.integration.cli.shared import Gradstream

CODE = """\
import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload
from gradstream.process.saving import model_files

model_files.PART_BYTES = 300


class Deep(Workload):
    classifies = False

    def model(self):
        return nn.Sequential(*(nn.Linear(6, 6) for _ in range(4)), nn.Linear(6, 1))

    def dataset(self, split):
        drawn = torch.rand(64, 6, generator=torch.Generator().manual_seed(1))
        return TensorDataset(drawn, drawn.sum(1, keepdim=True))

    def loss(self, model, batch):
        return nn.functional.mse_loss(model(batch[0]), batch[1])
"""


def job(name: str, **more: Any) -> dict[str, Any]:
    small = {"name": name, "workload": {"entrypoint": "deep:Deep"}, "strategy": {"name": "sync", "lr": 0.01}, "stop": {"steps": 8}}
    return {**small, "best": {"metric": "eval/loss"}, "roles": {"worker": {"count": 1, "device": "cpu"}}, **more}


def run(client: Client, folder: Path, name: str, **more: Any) -> Job:
    ended = client.wait(client.submit(job(name, **more), code=folder))
    assert ended.status == "succeeded", ended.message
    return ended


def tensors_of(index: Path) -> dict[str, torch.Tensor]:
    """Read each tensor from the part that the index names."""
    return {name: load_file(index.parent / part)[name] for name, part in json.loads(index.read_text())["weight_map"].items()}


def test_parts_are_downloaded_by_one_name_and_another_job_starts_from_them(
    client: Client, gradstream: Gradstream, tmp_path: Path
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "deep.py").write_text(CODE)
    first = run(client, code, "in-parts")
    names = {artifact.name for artifact in client.artifacts(first.id)}
    assert {"model-00001-of-00004.safetensors", "model.safetensors.index.json", "best.safetensors.index.json"} <= names
    assert "model.safetensors" not in names
    index = client.download(first.id, "model.safetensors", into=tmp_path / "sdk")
    trained = tensors_of(index)
    assert len(tensor_files(index)) == 4
    assert {name: tuple(tensor.shape) for name, tensor in trained.items()}["4.weight"] == (1, 6)
    done = gradstream("download", first.name, "model.safetensors", "--into", tmp_path / "cli")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5
    assert tensors_of(tmp_path / "cli" / index.name).keys() == trained.keys()
    for checkpoint in ("final", "best"):
        start = {"job": str(first.id), "checkpoint": checkpoint}
        still = {"name": "sync", "lr": 1e-30}
        second = run(client, code, f"from-{checkpoint}", start_from=start, strategy=still, stop={"steps": 1})
        began = tensors_of(client.download(second.id, "model.safetensors", into=tmp_path / checkpoint))
        source = tensors_of(
            client.download(first.id, f"{'model' if checkpoint == 'final' else 'best'}.safetensors", into=tmp_path / "sdk")
        )
        assert all(torch.equal(began[name], tensor) for name, tensor in source.items())


def test_training_without_a_platform_leaves_an_index(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text(CODE)
    result = library.train(job("alone"), code=tmp_path, into=tmp_path / "out")
    assert result.model is not None
    assert result.model.name == "model.safetensors.index.json"
    assert set(result.weights()) == set(tensors_of(result.model))

"""`gradstream train` without servers trains to the bits of the same job with servers."""

from __future__ import annotations

import io
from pathlib import Path

import torch
from safetensors.torch import load_file

from gradstream.local.training.trainer import Trainer
from gradstream.spec import JobSpec
from tests.platforms import USERLAND


def trained(folder: Path, servers: int, name: str = "sync") -> dict[str, torch.Tensor]:
    spec = JobSpec.model_validate(
        {
            "name": "alone",
            "workload": {"entrypoint": "steady:Steady"},
            "strategy": {"name": name, "lr": 0.05},
            "optimizer": {"name": "adam"},
            "roles": {"worker": {"count": 2, "device": "cpu"}, "server": {"count": servers}},
            "stop": {"epochs": 3},
        }
    )
    talk = io.StringIO()
    with Trainer(spec, USERLAND, folder, talk) as trainer:
        result = trainer.run()
    assert result["status"] == "succeeded", talk.getvalue()
    assert result["samples"] == 3 * 256
    return load_file(result["model_path"])


def test_train_without_servers(tmp_path: Path) -> None:
    without, beside = trained(tmp_path / "without", 0), trained(tmp_path / "with", 1)
    assert without.keys() == beside.keys()
    assert all(torch.equal(without[name], value) for name, value in beside.items())

"""A compiled model of several dtypes, in parts, in real processes: trained, scored, stored."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gradstream.local.training.trainer import Trainer
from gradstream.spec import JobSpec

CODE = """\
import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 32).bfloat16(), nn.BatchNorm1d(32), nn.Linear(32, 3).bfloat16()

    def forward(self, x):
        return self.last(self.norm(self.first(x.bfloat16()).float()).relu().bfloat16()).float()


class Compiled(Workload):
    def model(self):
        return torch.compile(Net(), backend="eager")

    def dataset(self, split):
        x = torch.randn(256, 8, generator=torch.Generator().manual_seed(1))
        return TensorDataset(x, x[:, :3].argmax(1))

    def loss(self, model, batch):
        assert len(batch[0]) == 8 or not model.training, "a part of 32 by 4"
        return nn.functional.cross_entropy(model(batch[0]), batch[1])
"""


@pytest.mark.more
def test_it_learns_and_comes_out_as_the_plain_module(tmp_path: Path) -> None:
    (tmp_path / "compiled.py").write_text(CODE)
    spec = JobSpec.model_validate(
        {
            "name": "compiled",
            "workload": {"entrypoint": "compiled:Compiled"},
            "strategy": {"name": "async", "lr": 0.2},
            "roles": {"worker": {"count": 2, "device": "cpu"}},
            "batch_size": 32,
            "accumulate": 4,
            "pipeline": 1,
            "stop": {"epochs": 30},
        }
    )
    talk = io.StringIO()
    with Trainer(spec, tmp_path, tmp_path / "out", talk) as trainer:
        result = trainer.run()
    assert result["status"] == "succeeded", talk.getvalue()
    assert result["eval"]["accuracy"] > 0.9, result
    stored = load_file(result["model_path"])
    assert {key: value.dtype for key, value in stored.items() if key.endswith("weight")} == {
        "first.weight": torch.bfloat16,
        "norm.weight": torch.float32,
        "last.weight": torch.bfloat16,
    }
    assert int(stored["norm.num_batches_tracked"]) > 0

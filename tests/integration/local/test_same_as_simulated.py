"""`gradstream train` and the simulator train a job file to the same bits, also with what its module draws at import."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gradstream import sim
from gradstream.local.training.trainer import Trainer
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec

DRAWS = """\
import random

import numpy
import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload

PROJECTION = torch.randn(4, 4)
SHIFT = random.random() + float(numpy.random.rand())


class Drawn(Workload):
    def __init__(self):
        self.scale = float(torch.rand(1))

    def model(self):
        return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))

    def dataset(self, split):
        x = torch.randn(64, 4)
        return TensorDataset(self.scale * x @ PROJECTION + SHIFT, (x.sum(1) > 0).long())

    def loss(self, model, batch):
        return nn.functional.cross_entropy(model(batch[0]), batch[1])
"""


@pytest.mark.more
def test_a_module_that_draws_at_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "drawn_at_import.py").write_text(DRAWS)
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = JobSpec.model_validate(
        {
            "name": "drawn",
            "workload": {"entrypoint": "drawn_at_import:Drawn"},
            "strategy": {"name": "sync", "lr": 0.1},
            "batch_size": 8,
            "roles": {"worker": {"count": 2, "device": "cpu"}},
            "stop": {"epochs": 3},
            "schedule": {"name": "cosine"},
            "evaluate": {"every": "0.5 epochs"},
        }
    )
    torch.manual_seed(98765)  # what was drawn before must not matter
    workloads = Workloads(spec, tmp_path)
    simulated = sim.run(spec, workloads, align=4096)
    talk = io.StringIO()
    with Trainer(spec, tmp_path, tmp_path.parent / f"{tmp_path.name}.out", talk) as trainer:
        result = trainer.run()
    assert result["status"] == "succeeded", talk.getvalue()
    model = load_file(result["model_path"])
    names = [name for name, _ in workloads._code.model().named_parameters()]
    trained = torch.cat([model[name].reshape(-1) for name in names])
    assert torch.equal(trained, simulated.center)

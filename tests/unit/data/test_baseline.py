"""`gradstream run --local` trains on the same sources in plain torch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gradstream import local_run
from gradstream.errors import InvalidWorkload
from gradstream.local_run import LocalProgress
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec

BODY = """
import torch
from torch import nn
from torch.utils.data import IterableDataset
from gradstream import Workload, data

x = torch.linspace(-1, 1, 50).view(50, 1)

class Lines(IterableDataset):
    def __iter__(self):
        yield from zip(x, 3 * x)

class Sized(Lines):
    def __len__(self):
        return 50

class Empty(IterableDataset):
    def __iter__(self):
        return iter(())

class W(Workload):
    kind: str
    classifies = False
    def model(self):
        model = nn.Linear(1, 1, dtype=torch.complex64 if self.kind == "complex" else None)
        return model.requires_grad_(self.kind != "frozen")
    def dataset(self, split):
        if self.kind == "source":
            return data.arrays(x, 3 * x).augment(lambda batch, generator: batch)
        if self.kind == "none":
            return torch.utils.data.TensorDataset(x[:0] if split == "train" else x)
        return {"lines": Lines, "empty": Empty}.get(self.kind, Sized)()
    def loss(self, model, batch):
        assert batch[0].shape == batch[1].shape and batch[0].shape[1:] == (1,)
        return nn.functional.mse_loss(model(batch[0]), batch[1])
"""


@pytest.fixture(autouse=True)
def body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "body_of_baseline.py").write_text(BODY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "body_of_baseline", raising=False)


def train(folder: Path, kind: str, **fields: Any) -> LocalProgress:
    spec = JobSpec.model_validate(
        {
            "name": "b",
            "workload": {"entrypoint": "body_of_baseline:W", "args": {"kind": kind}},
            "batch_size": 8,
            "strategy": {"name": "sync", "lr": 0.3},
            "evaluate": {"every": 1000, "batch_size": 16},
            **fields,
        }
    )
    return list(local_run.train(spec, folder))[-1]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("source", {"stop": {"epochs": 20}}),
        ("sized", {"stop": {"epochs": 20}}),
        ("lines", {"stop": {"epochs": 20}, "data": {"length": 50}}),
        ("lines", {"stop": {"steps": 140}}),
    ],
)
def test_it_learns_and_counts(tmp_path: Path, kind: str, fields: dict[str, Any]) -> None:
    last = train(tmp_path, kind, **fields)
    assert (last.step, last.samples) == (140, 1000)
    assert last.evaluation["loss"] < 1e-3


def test_what_has_no_length_or_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidWorkload, match=r"stop.epochs: the length of dataset\('train'\) is not known; set data.length"):
        train(tmp_path, "lines", stop={"epochs": 2})
    with pytest.raises(InvalidWorkload, match="gave no example in a whole pass"):
        train(tmp_path, "empty", stop={"steps": 2})


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("frozen", "the model has no trainable parameter"),
        ("complex", "the parameter weight is torch.complex64, and a center has one of"),
        ("none", "it has 0 examples, which do not fill a mini-batch"),
    ],
)
def test_what_the_platform_refuses_is_refused_here_in_a_sentence(tmp_path: Path, kind: str, sentence: str) -> None:
    with pytest.raises(UserError) as raised:
        train(tmp_path, kind, stop={"steps": 2})
    assert sentence in str(raised.value.__cause__)

"""Evaluation rows that are training rows are found; equal rows by nature are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, Subset, TensorDataset

from gradstream import Workload, data, local_run
from gradstream.input import randomness
from gradstream.input.overlap import Overlap, find_overlap
from gradstream.spec import JobSpec
from tests.unit.same import difference

ROWS = torch.randn(20_000, 3, generator=torch.Generator().manual_seed(1))


def rows(start: int, stop: int) -> TensorDataset:
    return TensorDataset(ROWS[start:stop], ROWS[start:stop, 0] > 0)


class Texts(Dataset[Any]):
    def __init__(self, numbers: range) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: int) -> Any:
        return {"text": f"line {self._numbers[at]}", "image": numpy.full(2, self._numbers[at]), "noise": float(torch.rand(()) * 0)}


@pytest.mark.parametrize(
    ("train", "held_out", "expected"),
    [
        (rows(0, 4000), rows(0, 500), Overlap(500, 500)),
        (rows(0, 4000), rows(3700, 4200), Overlap(300, 500)),
        (rows(0, 4000), rows(4000, 4500), None),
        (rows(0, 4000), rows(3990, 4490), None),
        (data.arrays(ROWS[:4000]), data.arrays(ROWS[100:200]), Overlap(100, 100)),
        (Texts(range(300)), Texts(range(200, 400)), Overlap(100, 200)),
        (TensorDataset(torch.arange(400) % 7), TensorDataset(torch.arange(50) % 7), None),
        (rows(0, 10), rows(5, 7), None),
    ],
)
def test_what_both_splits_have_is_counted(train: Any, held_out: Any, expected: Overlap | None) -> None:
    before = randomness.state()
    assert find_overlap(train, held_out, 60.0) == expected
    assert difference(before, randomness.state()) is None


def test_a_sample_of_large_splits_finds_rows_anywhere() -> None:
    """A third of the evaluation rows, which stand in the training split by chance."""
    numbers = torch.randperm(15_000, generator=torch.Generator().manual_seed(2))[:2000]
    held_out = Subset(rows(0, 20_000), [*numbers.tolist(), *range(15_000, 19_000)])
    found = find_overlap(rows(0, 15_000), held_out, 60.0)
    assert found is not None
    assert 100 <= found.shared < found.compared <= 4096


class Leaking(Workload):
    classifies = False

    def model(self) -> nn.Module:
        return nn.Linear(2, 1)

    def dataset(self, split: str) -> TensorDataset:
        return TensorDataset(torch.rand(400 if split == "train" else 50, 2))

    def loss(self, model: nn.Module, batch: list[Tensor]) -> Tensor:
        return model(batch[0]).square().mean()

    def evaluate(self, model: nn.Module, batch: list[Tensor]) -> dict[str, float]:
        return {"ratio": float("nan")}


def test_a_run_in_one_process_says_it_once(tmp_path: Path) -> None:
    spec = JobSpec.model_validate(
        {
            "name": "l",
            "workload": {"entrypoint": "tests.unit.input.test_overlap:Leaking"},
            "strategy": {"name": "sync"},
            "stop": {"steps": 4},
            "evaluate": {"every": 0.05},
        }
    )
    alerts = [alert for report in local_run.train(spec, tmp_path) for alert in report.alerts]
    assert [alert[:44] for alert in alerts] == [
        "50 of 50 evaluation rows that were compared ",
        "eval/ratio is not a finite number (first aft",
    ]

"""Data that only looks like MNIST, and laboratories whose results are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.report.experiments.base import Experiment, Scale
from benchmarks.report.lab import Lab, Run

TRAIN, TEST = 5320, 2000


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of IDX files: 320 images to train on, 5,000 held out, 2,000 for tests. Each is bright in the row of its digit."""
    folder = tmp_path_factory.mktemp("images")
    generator = torch.Generator().manual_seed(7)
    for prefix, count in (("train", TRAIN), ("t10k", TEST)):
        labels = torch.randint(0, 10, (count,), generator=generator, dtype=torch.uint8)
        pixels = torch.randint(0, 60, (count, 28, 28), generator=generator, dtype=torch.uint8)
        pixels[torch.arange(count), 2 * labels.long() + 3] += 150
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(idx(pixels))
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(idx(labels))
    return str(folder)


def idx(values: torch.Tensor) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in values.shape)
    return bytes([0, 0, 8, values.ndim]) + sizes + values.numpy().tobytes()


Invent = Callable[[Experiment, Scale, Callable[[Run], dict[str, Any]]], Lab]


@pytest.fixture
def invented(tmp_path: Path) -> Invent:
    """Store `result(run)` for every run of an experiment; what is stored already stays."""
    lab = Lab(tmp_path / "results")

    def invent(experiment: Experiment, scale: Scale, result: Callable[[Run], dict[str, Any]]) -> Lab:
        for run in experiment.runs(scale, lab):
            if run not in lab:
                lab.keep(experiment.name, run, result(run), 1.0)
        return lab

    return invent

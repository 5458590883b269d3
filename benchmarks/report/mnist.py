"""MNIST and the perceptron 784-1000-200-10 of the dist-keras notebooks, as a workload."""

from __future__ import annotations

import gzip
import math
from functools import cache
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload

FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "eval": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
MEAN, DEVIATION = 0.1307, 0.3081  # of the training images' pixels
PLACES = ("data/mnist", "data/MNIST/raw", "../data/mnist", "../shared/data/mnist")
"""Where it is looked for if no folder is named; the second is where torchvision puts it."""

HELP = f"the folder of the four MNIST IDX files, gzip-compressed or not; default: the first that has them of {', '.join(PLACES)}"


class DataMissing(Exception):
    """MNIST is not where it was looked for."""


class Mlp(Workload):
    path: str  # the folder of the four IDX files

    def model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(784, 1000), nn.ReLU(), nn.Linear(1000, 200), nn.ReLU(), nn.Linear(200, 10))

    def dataset(self, split: str) -> TensorDataset:
        return load(self.path, split)

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        images, labels = batch
        return nn.functional.cross_entropy(model(images), labels)


@cache
def load(path: str, split: str) -> TensorDataset:
    """One copy for all workers of all runs of this process."""
    images, labels = (read_idx(Path(path) / name) for name in FILES[split])
    return TensorDataset((images.view(-1, 784).float() / 255 - MEAN) / DEVIATION, labels.long())


def read_idx(path: Path) -> torch.Tensor:
    """An IDX file of bytes, gzip-compressed or not: two zeros, the type, the number of dimensions, each of them, the values."""
    zipped = path.with_name(f"{path.name}.gz")
    data = gzip.decompress(zipped.read_bytes()) if zipped.exists() else path.read_bytes()
    shape = [int.from_bytes(data[4 + 4 * k : 8 + 4 * k], "big") for k in range(data[3])]
    values = bytearray(data[4 + 4 * len(shape) :])
    if data[:3] != b"\0\0\x08" or len(values) != math.prod(shape):
        raise DataMissing(f"{path} is not a whole IDX file of bytes")
    return torch.frombuffer(values, dtype=torch.uint8).view(shape)


def find(named: str) -> str:
    """The folder of the four files: the one that was named, or, for "", one of `PLACES`.

    Raises: DataMissing, which says how to name the folder."""
    places = [named] if named else PLACES
    for place in places:
        if not (missing := _missing(Path(place))):
            return place
    where = f"in '{named}'" if named else f"in any of {', '.join(PLACES)}"
    raise DataMissing(
        f"there is no {missing} (or {missing}.gz) {where}: name the folder of the four MNIST IDX files with "
        "`--mnist PATH`, or `make report MNIST=PATH`"
    )


def _missing(folder: Path) -> str | None:
    names = (name for pair in FILES.values() for name in pair)
    return next((name for name in names if not any((folder / found).is_file() for found in (name, f"{name}.gz"))), None)

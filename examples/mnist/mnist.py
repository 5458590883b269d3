"""MNIST from its IDX files, with a multilayer perceptron or a small convolutional network."""

import gzip
import math
from pathlib import Path
from typing import Literal

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload

FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "eval": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


class Mnist(Workload):
    path: str  # the folder of the four IDX files, as published, gzip-compressed or not; the same on every node
    network: Literal["mlp", "cnn"] = "mlp"

    def model(self) -> nn.Module:
        if self.network == "mlp":
            return nn.Sequential(nn.Flatten(), nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 300), nn.ReLU(), nn.Linear(300, 10))
        return nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 7 * 7, 10),
        )

    def dataset(self, split: str) -> TensorDataset:
        images, labels = (read_idx(Path(self.path) / name) for name in FILES[split])
        return TensorDataset(images.unsqueeze(1).float() / 255, labels.long())

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        images, labels = batch
        return nn.functional.cross_entropy(model(images), labels)

    def on_evaluation_end(self, model: nn.Sequential, metrics: dict[str, float]) -> None:
        first = next(layer for layer in model if isinstance(layer, nn.Linear | nn.Conv2d))
        self.log_histogram("first_layer/weights", first.weight)  # on the tab Media, as the image of 16 filters
        filters = first.weight[:16].reshape(4, 4, *((28, 28) if self.network == "mlp" else (5, 5)))
        joined = torch.cat([torch.cat([*row], 1) for row in filters])
        self.log_image("first_layer/filters", 0.5 + joined / (6 * joined.std()))


def read_idx(path: Path) -> torch.Tensor:
    """One IDX file of bytes: two zeros, the type, the number of dimensions, each dimension as 4 bytes, the values."""
    zipped = path.with_name(f"{path.name}.gz")
    data = gzip.decompress(zipped.read_bytes()) if zipped.exists() else path.read_bytes()
    dimensions = data[3]
    shape = [int.from_bytes(data[4 + 4 * at : 8 + 4 * at], "big") for at in range(dimensions)]
    values = bytearray(data[4 + 4 * dimensions :])
    if data[:3] != b"\0\0\x08" or len(values) != math.prod(shape):
        raise ValueError(f"{path} is not a whole IDX file of bytes")
    return torch.frombuffer(values, dtype=torch.uint8).view(shape)

"""The work that all systems do: three models, MNIST, and a worker's share of it in its own shuffled order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch
    from torch import nn

IMAGES, LABELS = "images", "labels"


@dataclass(frozen=True)
class Item:
    batch: int
    """Examples per step of each worker."""
    lr: float
    """Of plain SGD; systems that average the gradients of a step take it times the number of workers."""
    parameters: int
    shape: tuple[int, ...]
    """Of one image."""


ITEMS = {
    "mlp": Item(128, 0.1, 545_810, (784,)),
    "cnn": Item(64, 0.05, 1_199_882, (1, 28, 28)),
    "wide": Item(32, 0.1, 20_037_642, (784,)),
}


def model(name: str) -> nn.Module:
    """The same one in every process: PyTorch's own initialization from a fixed seed."""
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        if name == "cnn":
            return nn.Sequential(
                nn.Conv2d(1, 32, 3),
                nn.ReLU(),
                nn.Conv2d(32, 64, 3),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(9216, 128),
                nn.ReLU(),
                nn.Linear(128, 10),
            )
        hidden = {"mlp": (500, 300), "wide": (4096, 4096)}[name]
        sizes = (784, *hidden)
        layers = [part for a, b in zip(sizes, hidden, strict=False) for part in (nn.Linear(a, b), nn.ReLU())]
        return nn.Sequential(*layers, nn.Linear(hidden[-1], 10))


def load(folder: str, split: str, name: str) -> tuple[Any, Any]:
    """Images, shape (n, *item.shape), float32 in [0, 1]; labels, shape (n,), int64. Numpy arrays over the files of `prepare`:
    their pages are shared with the other processes of this machine."""
    images = np.memmap(place(folder, split, IMAGES), np.float32, "c").reshape(-1, *ITEMS[name].shape)
    return images, np.memmap(place(folder, split, LABELS), np.int64, "c")


def place(folder: str | Path, split: str, part: str) -> Path:
    """A file of bare values."""
    return Path(folder) / f"{split}-{part}"


def batches(data: str, name: str, rank: int, workers: int, seed: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Without end: whole mini-batches of every `workers`-th image, held in memory, drawn anew for every pass."""
    import torch

    images, labels = (torch.from_numpy(np.array(part[rank::workers])) for part in load(data, "train", name))
    generator, size = torch.Generator().manual_seed(1000 * seed + rank), ITEMS[name].batch
    while True:
        order = torch.randperm(len(labels), generator=generator)
        for chosen in order[: len(order) // size * size].split(size):
            yield images[chosen], labels[chosen]


def prepare(mnist_folder: str, folder: Path) -> None:
    """Unpack MNIST once for all runs; "": from a usual place. Raises: DataMissing."""
    from benchmarks.report import mnist

    source = Path(mnist.find(mnist_folder))
    folder.mkdir(parents=True, exist_ok=True)
    for split, names in mnist.FILES.items():
        images, labels = (mnist.read_idx(source / name) for name in names)
        images.float().div_(255).numpy().tofile(place(folder, split, IMAGES))
        labels.long().numpy().tofile(place(folder, split, LABELS))

"""The work that all systems do: three models of MNIST, one of clicks, and a worker's share of the data in its own shuffled order.

`clicks` has 26 ids per example and a table of 10^6 rows: `torch.nn.Embedding` with sparse gradients and Adagrad, or, `hosted`, a
table of Gradstream with row-wise Adagrad. Its ids are drawn by Zipf's law with exponent 1.05."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn
    from torch.optim import Optimizer

IMAGES, LABELS, IDS, CLICKS = "images", "labels", "ids", "clicks"


@dataclass(frozen=True)
class Item:
    batch: int
    """Examples per step of each worker."""
    lr: float
    """Of plain SGD; systems that average the gradients of a step take it times the number of workers."""
    parameters: int
    shape: tuple[int, ...]
    """The shape of one image, or of the ids of one example."""


ITEMS = {
    "mlp": Item(128, 0.1, 545_810, (784,)),
    "cnn": Item(64, 0.05, 1_199_882, (1, 28, 28)),
    "wide": Item(32, 0.1, 20_037_642, (784,)),
    "clicks": Item(4096, 0.1, 61_697, (26,)),
}
ROWS, WIDTH, ROWS_LR = 1_000_000, 16, 0.05


def model(name: str, hosted: bool = False) -> nn.Module:
    """The same one in every process: PyTorch's own initialization from a fixed seed. `hosted`: in a table of Gradstream."""
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        if name == "clicks":
            layers = [nn.Flatten(), nn.Linear(26 * WIDTH, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)]
            return nn.Sequential(_embedding(hosted), *layers, nn.Flatten(0))
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


def _embedding(hosted: bool) -> nn.Module:
    from torch import nn

    if hosted:
        from gradstream import nn as gnn

        return gnn.Embedding("ids", WIDTH)
    made = nn.Embedding(ROWS, WIDTH, sparse=True)
    nn.init.uniform_(made.weight, -0.05, 0.05)
    return made


def loss(name: str, outputs: Tensor, labels: Tensor) -> Tensor:
    from torch.nn import functional

    if name == "clicks":
        return functional.binary_cross_entropy_with_logits(outputs, labels.float())
    return functional.cross_entropy(outputs, labels)


def optimizers(name: str, model: nn.Module, lr: float) -> list[Optimizer]:
    """Plain SGD, and Adagrad for the rows of `clicks`, whose state can be shared between processes."""
    from torch.optim import SGD, Adagrad

    if name != "clicks":
        return [SGD(model.parameters(), lr=lr)]
    rows, *dense = model.parameters()
    sparse = Adagrad([rows], lr=ROWS_LR)
    sparse.share_memory()
    return [SGD(dense, lr=lr), sparse]


def load(folder: str, split: str, name: str) -> tuple[Any, Any]:
    """Images, shape (n, *item.shape), float32 in [0, 1], or ids, int64; labels, shape (n,), int64. Numpy arrays over the files of
    `prepare`: their pages are shared with the other processes of this machine."""
    if name == "clicks":
        ids = np.memmap(place(folder, split, IDS), np.int64, "c").reshape(-1, *ITEMS[name].shape)
        return ids, np.memmap(place(folder, split, CLICKS), np.int64, "c")
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
    for split, examples in (("train", 32 * ITEMS["clicks"].batch), ("eval", ITEMS["clicks"].batch)):
        _draw_clicks(folder, split, examples)


def _draw_clicks(folder: Path, split: str, examples: int) -> None:
    """Ids by Zipf's law over a part of the rows for each field, and clicks that hang on them."""
    rng, (fields,) = np.random.default_rng(len(split)), ITEMS["clicks"].shape
    of_field = ROWS // fields
    shares = np.cumsum(1 / np.arange(1, of_field + 1) ** 1.05)
    ids = np.searchsorted(shares, rng.random((examples, fields)) * shares[-1]) + np.arange(fields) * of_field
    logits = np.random.default_rng(0).normal(0, 0.3, fields * of_field)[ids].sum(1) - 1
    clicks = rng.random(examples) < 1 / (1 + np.exp(-logits))
    ids.astype(np.int64).tofile(place(folder, split, IDS))
    clicks.astype(np.int64).tofile(place(folder, split, CLICKS))

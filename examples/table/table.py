"""A table in a Parquet file: 30 measurements of cell nuclei, and whether the tumour was benign."""

from pathlib import Path

import torch
from torch import nn

from gradstream import Workload, data

MEASURED = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave_points",
    "symmetry",
    "fractal_dimension",
)
FEATURES = [f"{what}_{kind}" for kind in ("mean", "error", "worst") for what in MEASURED]


class Table(Workload):
    path: str  # the Parquet file; the same on every node
    hidden: int = 32

    def model(self) -> nn.Module:
        scaling = nn.BatchNorm1d(len(FEATURES), affine=False)  # the columns are as they were measured
        return nn.Sequential(scaling, nn.Linear(len(FEATURES), self.hidden), nn.ReLU(), nn.Linear(self.hidden, 2))

    def dataset(self, split: str) -> data.Source:
        rows = data.parquet(self.path, FEATURES, "benign")
        held_out = torch.arange(len(rows)) % 5 == 0
        return rows.rows(held_out if split == "eval" else ~held_out)

    def loss(self, model: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        measurements, benign = batch
        return nn.functional.cross_entropy(model(measurements), benign)


def write(path: str) -> None:
    """The table, from scikit-learn's copy of it; its rows in a random order."""
    import numpy
    import pyarrow
    from pyarrow import parquet
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    order = numpy.random.default_rng(1).permutation(len(found.target))
    columns = {name: found.data[order, at] for at, name in enumerate(FEATURES)} | {"benign": found.target[order]}
    parquet.write_table(pyarrow.table(columns), Path(path), row_group_size=100)


if __name__ == "__main__":
    import sys

    write(sys.argv[1])

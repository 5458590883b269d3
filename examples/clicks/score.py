"""Score examples with the rows that a job has trained, from a folder of `gradstream download`: `python score.py FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from clicks import WideAndDeep, batches
from safetensors.torch import load_file

from gradstream import nn as gnn


def score(folder: Path, examples: int = 1024) -> torch.Tensor:
    """Probabilities of clicks, shape (examples,)."""
    model = WideAndDeep()
    model.load_state_dict(load_file(folder / "model.safetensors"))
    for table, rows in gnn.load_tables(model, folder.glob("tables-*.safetensors")).items():
        print(f"table {table}: {rows} rows")
    with torch.no_grad():
        return torch.cat([model(ids) for ids, _ in batches(examples)]).sigmoid()


if __name__ == "__main__":
    print(f"mean probability of a click: {score(Path(sys.argv[1])).mean():.4f}")

"""Files of trained rows that lie: each is refused in a sentence, whoever made it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from gradstream.center.tables.storage.trained import read_tables
from gradstream.errors import Invalid

PART: dict[str, Any] = {"version": 1, "shard": 0, "shards": 1, "seed": 0}
TABLE: dict[str, Any] = {"width": 2, "reach": 0.1, "admits": False}
KEYS, VALUES = torch.tensor([1, 2]), torch.ones(2, 2)


def read(folder: Path, keys: torch.Tensor | None = KEYS, values: torch.Tensor | None = VALUES, **lies: Any) -> list[float]:
    table = {name: lies.pop(name, value) for name, value in TABLE.items()}
    told = {**PART, **lies, "tables": {"user": table}}
    tensors = {"user/keys": keys, "user/values": values}
    file = folder / "tables-0.safetensors"
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, file, {"tables": json.dumps(told)})
    return [float(value) for value in read_tables([file])["user"].look_up(KEYS.numpy()).values.ravel()]


def test_rows_are_read(tmp_path: Path) -> None:
    assert read(tmp_path) == [1.0] * 4


@pytest.mark.parametrize(
    "lie",
    [
        {"keys": None},
        {"values": None},
        {"keys": torch.tensor([1.5, float("nan")])},
        {"keys": torch.ones(2, 2, dtype=torch.int64)},
        {"keys": torch.tensor([1, 1])},
        {"keys": torch.tensor(1)},
        {"values": torch.ones(2, 2, dtype=torch.int64)},
        {"values": torch.ones(2, 2, dtype=torch.bfloat16)},
        {"values": torch.ones(1, 2)},
        {"values": torch.ones(4)},
        {"values": torch.tensor(1.0)},
        {"values": torch.ones(2, 0), "width": 0},
        {"width": -1},
        {"width": 10**15},
        {"reach": float("nan")},
        {"reach": -1.0},
        {"shards": 10**12},
        {"shards": 2},
        {"shard": -1},
    ],
    ids=str,
)
def test_a_file_that_lies_is_refused(lie: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        read(tmp_path, **lie)

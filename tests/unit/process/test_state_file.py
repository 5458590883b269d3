"""The file of a state: what comes back is what was stored, bit for bit, and its bytes are those of the safetensors library."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load, save

from gradstream.process.saving.content import CHUNK
from gradstream.process.saving.state_file import read_state, state_file
from gradstream.process.saving.tensor_file import _NAMES, TensorFile


def written(file: TensorFile) -> bytes:
    chunks = list(file.chunks())
    assert max(map(len, chunks)) <= CHUNK
    data = b"".join(chunks)
    assert len(data) == file.nbytes
    return data


def test_a_file_of_tensors_has_the_bytes_that_the_library_writes() -> None:
    tensors = {
        "b": torch.randn(3, 5),
        "a": torch.randn(CHUNK // 2),
        "none": torch.zeros(0, 2),
        "scalar": torch.tensor(3.0),
        "ö": torch.ones(3, dtype=torch.bfloat16),
        "i": torch.arange(4),
    }
    assert written(TensorFile(tensors, {"k": 'v"\n'})) == save(tensors, {"k": 'v"\n'})


@pytest.mark.parametrize("dtype", _NAMES, ids=str)
def test_each_dtype_comes_back(dtype: torch.dtype) -> None:
    tensor = torch.arange(6).view(2, 3).to(dtype)
    found = load(written(TensorFile({"x": tensor.t(), "y": tensor[0, 0]})))
    assert found["x"].dtype == dtype
    assert found["x"].tolist() == tensor.t().tolist()
    assert found["y"].shape == ()


def test_a_dtype_without_a_name_is_refused_with_the_tensor() -> None:
    with pytest.raises(TypeError, match=r"w has the dtype torch.complex128"):
        TensorFile({"w": torch.zeros(1, dtype=torch.complex128)})


STATES: list[Any] = [
    {},
    {"a": 1, "b": None, "c": True, "d": "ö$", "e": 0.1 + 0.2, "f": 10**20, "g": [1, [2.5, ()]]},
    {0: {"x": 1}, 1: {}, "1": 2},
    {"$tensor": "no tensor", "$tuple": [1]},
    {"inf": -math.inf, "t": (1, (2, [3]), {})},
    ("a", [("b",)]),
]


@pytest.mark.parametrize("state", STATES, ids=repr)
def test_plain_values_come_back_with_their_types(state: Any, tmp_path: Path) -> None:
    file = tmp_path / "a.safetensors"
    file.write_bytes(written(state_file(state)))
    found = read_state(file)
    assert (found, repr(found)) == (state, repr(state))


def test_tensors_come_back_where_they_were_and_are_named_by_their_place(tmp_path: Path) -> None:
    state = {"a.b": torch.ones(2), "a": {"b": torch.zeros(3), 7: (torch.tensor(1, dtype=torch.uint8),)}, "nan": math.nan}
    file = tmp_path / "a.safetensors"
    file.write_bytes(written(state_file(state)))
    assert set(load(file.read_bytes())) == {"a.b", "a.b#1", "a.7.0"}
    found = read_state(file)
    assert (found["a.b"].tolist(), found["a"]["b"].tolist(), found["a"][7]) == ([1, 1], [0, 0, 0], (torch.tensor(1),))
    assert math.isnan(found["nan"])


def test_what_is_no_plain_value_is_refused_with_its_place() -> None:
    with pytest.raises(TypeError, match=r"a\.0 is a set"):
        state_file({"a": [{1}]})


def test_a_file_of_an_earlier_version_is_read_and_no_code_of_it_runs(tmp_path: Path) -> None:
    state = {"center": {"theta": torch.randn(5)}, "ledger": {0: {"pushed": 3}}, "t": (1, None)}
    torch.save(state, tmp_path / "shard-0.pt")
    found = read_state(tmp_path / "shard-0.pt")
    assert torch.equal(found["center"].pop("theta"), state["center"].pop("theta"))  # type: ignore[attr-defined]
    assert found == state
    torch.save({"x": Path}, tmp_path / "bad.pt")
    with pytest.raises(Exception, match="weights_only"):
        read_state(tmp_path / "bad.pt")

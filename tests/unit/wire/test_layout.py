"""A layout travels as JSON with the first entry and lies in files of checkpoints: it comes back as it was."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from torch import nn

from gradstream.center.entries import Init, Payload
from gradstream.codecs.raw import RAW
from gradstream.model.flat_model import FlatModel
from gradstream.process.saving.state_file import read_state, state_file
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header
from gradstream.wire.transport.shm import Shared


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.frozen = nn.Linear(3, 3).requires_grad_(False)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.head = nn.Linear(3, 5)
        self.head.weight = self.embedding.weight


def layout() -> Layout:
    flat = FlatModel(Tied(), torch.device("cpu"))
    return Layout.of(flat.theta, flat.buffers(), 2, flat.parameters)


def through_json(saved: dict[str, Any], folder: Path) -> dict[str, Any]:
    header = Header.unpack(Header(Init(0, 0), layout=saved).pack())
    assert header
    assert header.layout
    return header.layout


def through_a_file(saved: dict[str, Any], folder: Path) -> dict[str, Any]:
    (folder / "a").write_bytes(b"".join(state_file({"layout": saved}).chunks()))
    read: dict[str, Any] = read_state(folder / "a")["layout"]
    return read


def test_it_names_what_trains_once_and_in_the_order_of_the_vector() -> None:
    assert layout().parameters == (("scale", ()), ("embedding.weight", (5, 3)), ("head.bias", (5,)))
    assert layout().size == 1 + 15 + 5


@pytest.mark.more
def test_names_are_those_of_a_model_that_is_not_compiled() -> None:
    model = nn.Sequential(nn.Linear(2, 1))
    model[0] = torch.compile(model[0])  # type: ignore[assignment]
    assert [name for name, _ in FlatModel(model, torch.device("cpu")).parameters] == ["0.weight", "0.bias"]


@pytest.mark.parametrize("way", [through_json, through_a_file])
def test_it_comes_back_as_it_was(way: Any, tmp_path: Path) -> None:
    assert Layout.load(way(layout().as_dict(), tmp_path)) == layout()


def test_one_of_an_older_version_has_no_names() -> None:
    saved = layout().as_dict()
    del saved["parameters"]
    assert Layout.load(saved) == Layout.of(torch.empty(21), None, 2)


def test_names_of_a_large_model_are_small_beside_it() -> None:
    many = tuple((f"transformer.blocks.{k}.attention.weight", (4096, 4096)) for k in range(500))
    assert len(msgspec.json.encode(many)) < 40_000


class Narrow(nn.Module):
    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 1, dtype=dtype)
        self.register_buffer("position", torch.arange(300.0))
        self.register_buffer("large", torch.tensor(1e6))
        self.register_buffer("count", torch.tensor(7))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_buffers_keep_their_digits_and_their_range_beside_narrow_parameters(dtype: torch.dtype, tmp_path: Path) -> None:
    """In bfloat16 257 would be 256, and in float16 a million infinite."""
    flat, other = (FlatModel(Narrow(dtype), torch.device("cpu")) for _ in range(2))
    buffers = flat.buffers()
    layout = Layout.of(flat.theta, buffers, 1)
    data = layout.encode(RAW, Payload(flat.theta, buffers))
    assert len(data) == layout.nbytes(0) == layout.coded(RAW, 0) == 2 * 7 + 4 * 301 + 8
    shared = Shared.make(tmp_path, 0, 0, layout)
    shared.put_out(buffers)
    for found in (layout.decode(RAW, data, 0, layout.vector()).buffers, layout.view(data, 0).buffers, shared.take_out(0).buffers):
        assert found is not None
        other.model.position.zero_()  # type: ignore[operator]
        other.load_buffers(found)
        assert torch.equal(other.model.position, torch.arange(300.0))  # type: ignore[arg-type]
        assert (float(other.model.large), int(other.model.count)) == (1e6, 7)  # type: ignore[arg-type]

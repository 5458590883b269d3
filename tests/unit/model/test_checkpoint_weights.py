"""The weights in a checkpoint: what shards save becomes a state_dict again, bit for bit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gradstream.center.parameters.buffers import CenterBuffers
from gradstream.center.parameters.center import Center
from gradstream.center.parameters.slices import slices
from gradstream.model.flat_model import FlatModel
from gradstream.model.weights.in_checkpoint import describe_tensors, read_weights
from gradstream.model.weights.start import set_weights
from gradstream.process.exits import UserError
from gradstream.process.saving.state_file import state_file
from gradstream.spec import JobSpec
from gradstream.wire.transport.layout import Layout


class Everything(nn.Module):
    """Tied, frozen and narrow parameters, more than one slice of the vector, and buffers of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(90, 90, dtype=torch.bfloat16)
        self.norm = nn.BatchNorm1d(90)
        self.head = nn.Linear(90, 1, bias=False)
        self.tied = self.head
        self.frozen = nn.Linear(90, 2)
        self.frozen.requires_grad_(False)
        self.register_buffer("phase", torch.randn(3, dtype=torch.complex64))
        self.register_buffer("mask", torch.tensor([True, False]))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)


def job(**fields: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "a",
            "workload": {"entrypoint": "a:A"},
            "strategy": {"name": "adag"},
            "stop": {"epochs": 1},
            "roles": {"worker": {"count": 2}},
            **fields,
        }
    )


def checkpoint(
    flat: FlatModel, folder: Path, shards: int, spec: JobSpec, suffix: str = ".safetensors"
) -> Callable[[str], Path | None]:
    """The files of one, whose center is the vector of this model. Gives them as a store does: as copies."""
    buffers = flat.buffers()
    layout = Layout.of(flat.theta, buffers, shards)
    _write(describe_tensors(flat), folder / f"tensors{suffix}")
    for k, part in enumerate(slices(layout.size, shards)):
        center = Center(spec, flat.theta[part].clone(), CenterBuffers(buffers) if buffers and k == 0 else None)
        if center._average is not None:
            center._average.add_(1)
        _write({"layout": layout.as_dict(), "shard": {"center": center.state()}}, folder / f"shard-{k}{suffix}")

    def fetch(name: str) -> Path | None:
        return Path(shutil.copy(folder / name, folder / f"copy{suffix}")) if (folder / name).exists() else None

    return fetch


def _write(state: dict[str, Any], file: Path) -> None:
    if file.suffix == ".pt":
        torch.save(_as_earlier(state), file)
    else:
        file.write_bytes(b"".join(state_file(state).chunks()))


def _as_earlier(state: dict[str, Any]) -> dict[str, Any]:
    """The description as earlier versions stored it: with the dtypes themselves."""
    if "placed" not in state:
        return state
    places = {name: (*place, getattr(torch, dtype.removeprefix("torch."))) for name, (*place, dtype) in state["placed"].items()}
    return {**state, "placed": places}


def same(given: dict[str, Tensor], wanted: dict[str, Tensor]) -> bool:
    return given.keys() == wanted.keys() and all(
        given[name].dtype == tensor.dtype and torch.equal(given[name], tensor) for name, tensor in wanted.items()
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize(("compiled", "suffix"), [(False, ".safetensors"), (True, ".safetensors"), (False, ".pt")])
def test_a_checkpoint_gives_the_state_dict_that_the_final_model_would_be(
    shards: int, compiled: bool, suffix: str, tmp_path: Path
) -> None:
    torch.manual_seed(1)
    model = Everything()
    model.norm.train()(torch.randn(8, 90))  # running statistics of its own
    if compiled:
        model.head = model.tied = torch.compile(model.head)  # type: ignore[assignment]
    flat = FlatModel(model, torch.device("cpu"))
    given = read_weights(checkpoint(flat, tmp_path, shards, job(), suffix))
    assert same(given, flat.tensors())
    torch.manual_seed(2)
    other = Everything()
    set_weights(other, given)
    assert same(FlatModel(other, torch.device("cpu")).tensors(), flat.tensors())
    assert not (tmp_path / f"copy{suffix}").exists(), "what was fetched is removed again"


def test_of_a_job_that_evaluates_an_average_the_average_is_taken(tmp_path: Path) -> None:
    flat = FlatModel(nn.Linear(3, 1, bias=False), torch.device("cpu"))
    given = read_weights(checkpoint(flat, tmp_path, 1, job(evaluate={"average": "uniform"})))
    assert torch.equal(given["weight"].view(-1), flat.theta + 1)


def test_a_frozen_view_is_stored_without_what_it_is_a_view_of() -> None:
    model = nn.Linear(2, 1)
    model.register_parameter("some", nn.Parameter(torch.zeros(1000)[:2], requires_grad=False))
    assert describe_tensors(FlatModel(model, torch.device("cpu")))["kept"]["some"].untyped_storage().nbytes() == 8


@pytest.mark.parametrize("lacking", ["tensors.safetensors", "shard-0.safetensors", "shard-1.safetensors"])
def test_a_file_that_is_missing_is_named(lacking: str, tmp_path: Path) -> None:
    fetch = checkpoint(FlatModel(nn.Linear(3, 1), torch.device("cpu")), tmp_path, 2, job())
    (tmp_path / lacking).unlink()
    with pytest.raises(UserError, match=rf"^start_from: .* has no file {lacking}"):
        read_weights(fetch)

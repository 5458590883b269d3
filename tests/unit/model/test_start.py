"""A model that begins from another one's weights, or says in which names they differ."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from gradstream.model.flat_model import FlatModel
from gradstream.model.weights.start import load_weights
from gradstream.process.exits import UserError


def model(hidden: int = 4) -> nn.Module:
    return nn.Sequential(nn.Linear(3, hidden), nn.BatchNorm1d(hidden), nn.Linear(hidden, 1))


def stored(of: nn.Module, folder: Path) -> Path:
    save_file(FlatModel(of, torch.device("cpu")).tensors(), folder / "model.safetensors")
    return folder / "model.safetensors"


def test_parameters_and_buffers_are_taken(tmp_path: Path) -> None:
    source = model()
    source.train()(torch.randn(8, 3))  # running statistics of its own
    own = model()
    load_weights(own, stored(source, tmp_path))
    assert all(torch.equal(own.state_dict()[name], tensor) for name, tensor in source.state_dict().items())


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (model(5), r"0\.weight has the shape \(5, 3\) there and \(4, 3\) here; .*and \d more shapes differ$"),
        (nn.Sequential(nn.Linear(3, 4)), r"missing there: 1\.weight, 1\.bias, 1\.running_mean and 4 more$"),
        (nn.Sequential(*model(), nn.Linear(1, 1)), r"not in this model: 3\.bias, 3\.weight$"),
    ],
)
def test_weights_of_another_model_are_refused_by_name(other: nn.Module, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        load_weights(model(), stored(other, tmp_path))


def test_a_file_that_is_not_there_or_is_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^start_from: there is no file x\.safetensors"):
        load_weights(model(), tmp_path / "x.safetensors")
    (tmp_path / "x.safetensors").write_text("no weights")
    with pytest.raises(UserError, match=r"x\.safetensors cannot be read"):
        load_weights(model(), tmp_path / "x.safetensors")

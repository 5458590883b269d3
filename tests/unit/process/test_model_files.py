"""A model in parts with an index, as other libraries read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from gradstream.errors import Invalid
from gradstream.model.weights.stored import TensorsOfModel
from gradstream.process.saving import model_files
from gradstream.process.saving.model_files import INDEX, model_of, tensor_files, with_parts
from gradstream.process.saving.model_parts import files_of_model
from gradstream.process.store import BEST, MODEL

TENSORS = {
    "embed": torch.rand(30, 10),
    "tied": torch.rand(5),
    "head.weight": torch.rand(100, 3),
    "count": torch.tensor(7),
    "z": torch.rand(0),
}


def store(folder: Path, model: str = MODEL, about: str = "{}", tensors: dict[str, Tensor] | None = None) -> list[str]:
    names = []
    for name, content in files_of_model(model, tensors or TENSORS, {"gradstream": about}):
        (folder / name).write_bytes(b"".join(content.chunks()))
        names.append(name)
    return names


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "PART_BYTES", 1300)


def test_a_small_model_is_one_file(tmp_path: Path) -> None:
    assert store(tmp_path) == [MODEL]
    assert model_files.find_model(tmp_path, MODEL) == tmp_path / MODEL


@pytest.mark.usefixtures("_small_parts")
def test_safetensors_reads_each_part_that_the_index_names(tmp_path: Path) -> None:
    names = store(tmp_path)
    assert names == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", MODEL + INDEX]
    index = json.loads((tmp_path / names[-1]).read_text())
    assert index["metadata"]["total_size"] == sum(tensor.nbytes for tensor in TENSORS.values())
    assert set(index["weight_map"]) == set(TENSORS)
    for name, tensor in TENSORS.items():
        torch.testing.assert_close(load_file(tmp_path / index["weight_map"][name])[name], tensor, rtol=0, atol=0)
    for part in names[:-1]:
        assert (tmp_path / part).stat().st_size < 1300 + 600, "with its header"


@pytest.mark.usefixtures("_small_parts")
def test_the_library_of_hugging_face_loads_all_parts(tmp_path: Path) -> None:
    hub = pytest.importorskip("transformers.trainer_utils")
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Linear(30, 20))
    store(tmp_path, tensors={name: t.detach() for name, t in model.state_dict().items()})
    other = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Linear(30, 20))
    hub.load_sharded_checkpoint(other, str(tmp_path))
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor)


@pytest.mark.usefixtures("_small_parts")
def test_parts_are_read_as_one(tmp_path: Path) -> None:
    store(tmp_path, BEST)
    found = TensorsOfModel(tmp_path / (BEST + INDEX))
    assert {name: tensor.tolist() for name, tensor in found.items()} == {name: t.tolist() for name, t in TENSORS.items()}


@pytest.mark.usefixtures("_small_parts")
def test_parts_of_different_models_are_refused(tmp_path: Path) -> None:
    names = store(tmp_path, BEST, "first")
    part = (tmp_path / names[0]).read_bytes()
    store(tmp_path, BEST, "second")
    (tmp_path / names[0]).write_bytes(part)
    with pytest.raises(Invalid, match="are of different models"):
        tensor_files(tmp_path / names[-1])
    (tmp_path / names[0]).unlink()
    with pytest.raises(Invalid, match=f"names {names[0]}, which is not beside it"):
        tensor_files(tmp_path / names[-1])


@pytest.mark.parametrize(
    ("path", "model"),
    [
        (MODEL, MODEL),
        (BEST + INDEX, BEST),
        ("best-00002-of-00003.safetensors", BEST),
        ("model-00004-of-00003.safetensors", None),
        ("model-00000-of-00003.safetensors", None),
        ("other.safetensors.index.json", None),
        ("../model-00001-of-00002.safetensors", None),
        ("tables-0.safetensors", None),
    ],
)
def test_names_that_belong_to_a_model(path: str, model: str | None) -> None:
    assert model_of(path) == model


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"weight_map": {"a": "model-00001-of-00001.safetensors"}}', '{"metadata": {"total_size": 1}, "weight_map": {}}'],
)
def test_an_index_needs_its_sizes_and_its_tensors(tmp_path: Path, text: str) -> None:
    (tmp_path / (MODEL + INDEX)).write_text(text)
    with pytest.raises(Invalid, match="as an index of a model has them"):
        model_files.read_index(tmp_path / (MODEL + INDEX), MODEL)


def test_an_index_names_parts_of_its_own_model_alone(tmp_path: Path) -> None:
    for name in ("/etc/passwd", "best-00001-of-00001.safetensors", MODEL):
        (tmp_path / (MODEL + INDEX)).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": {"a": name}}))
        with pytest.raises(Invalid, match="is not a part of"):
            model_files.read_index(tmp_path / (MODEL + INDEX), MODEL)


def test_one_name_stands_for_all_parts() -> None:
    there = ["job.yaml", "model-00002-of-00002.safetensors", "model-00001-of-00002.safetensors", MODEL + INDEX, BEST]
    assert with_parts([MODEL], there) == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", MODEL + INDEX]
    assert with_parts([BEST, "job.yaml"], there) == [BEST, "job.yaml"]

"""`Workload.weights()`: real .safetensors files, whole and sharded, and a sentence for each way in which they do not fit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import local_run, sim
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from gradstream.workload import Workload

HERE = Path(__file__).parent


class Net(nn.Module):
    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
        self.head, self.tied = nn.Linear(4, 2, bias=False, dtype=dtype), nn.Linear(4, 2, bias=False, dtype=dtype)
        self.tied.weight = self.head.weight
        self.first.bias.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.first(x)).to(self.head.weight.dtype))  # type: ignore[no-any-return]


class Pretrained(Workload):
    files: list[str] = []  # noqa: RUF012
    dtype: str = "float32"

    def model(self) -> nn.Module:
        return Net(getattr(torch, self.dtype))

    def weights(self) -> Any:
        return self.files if len(self.files) != 1 else self.files[0]

    def dataset(self, split: str) -> TensorDataset:
        x = torch.arange(120.0).view(40, 3).sin()
        return TensorDataset(x, (x.sum(1) > 0).long())

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        return nn.functional.cross_entropy(model(batch[0]).float(), batch[1])


class Windowed(Pretrained):
    """A buffer is the beginning of a parameter."""

    def model(self) -> nn.Module:
        net = Net()
        net.register_buffer("window", net.first.weight.data[:1])
        return net


class Named(Pretrained):
    """A field of this name is the workload's own affair."""

    weights: list[float] = []  # type: ignore[assignment]  # noqa: RUF012


def spec(*files: Path, kind: str = "Pretrained", **fields: Any) -> JobSpec:
    args = {"files": [str(file) for file in files], **fields.pop("args", {})}
    given = {
        "name": "pretrained",
        "workload": {"entrypoint": f"{__name__}:{kind}", "args": args},
        "strategy": {"name": "sync", "lr": 0.01},
        "roles": {"worker": {"count": 2, "device": "cpu"}},
        "batch_size": 4,
        "stop": {"epochs": 1},
    }
    return JobSpec.model_validate(given | fields)


def values(**changed: Tensor | None) -> dict[str, Tensor]:
    """Those of another model of this kind, a tied parameter once, as files have it."""
    torch.manual_seed(7)
    other = Net()
    with torch.no_grad():
        other.norm.running_mean.add_(0.5)
        other.norm.num_batches_tracked.add_(3)
    found = {name: tensor for name, tensor in other.state_dict().items() if name != "tied.weight"}
    return {name: tensor for name, tensor in (found | changed).items() if tensor is not None}


def written(file: Path, tensors: dict[str, Tensor]) -> Path:
    save_file(tensors, file)
    return file


def sharded(folder: Path, tensors: dict[str, Tensor]) -> Path:
    """The index of two files."""
    names, folder = sorted(tensors), folder / "sharded"
    folder.mkdir()
    places = {name: f"model-{k % 2 + 1:05}-of-00002.safetensors" for k, name in enumerate(names)}
    for file in set(places.values()):
        written(folder / file, {name: tensors[name] for name in names if places[name] == file})
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    return index


def test_a_file_an_index_a_folder_and_a_list_give_the_same_model(tmp_path: Path) -> None:
    wanted = values()
    index, whole = sharded(tmp_path, wanted), written(tmp_path / "whole.safetensors", wanted)
    for files in ([whole], [index], [index.parent], sorted(index.parent.glob("*.safetensors"))):
        model = UserCode(spec(*files)).model()
        state = model.state_dict()
        assert all(torch.equal(state[name], tensor) for name, tensor in wanted.items())
        assert torch.equal(state["tied.weight"], wanted["head.weight"])
    twice = written(tmp_path / "twice.safetensors", wanted | {"tied.weight": wanted["head.weight"].clone()})
    assert torch.equal(UserCode(spec(twice)).model().state_dict()["tied.weight"], wanted["head.weight"])


def test_a_part_of_a_tensor_stands_for_it_in_no_file(tmp_path: Path) -> None:
    wanted = values()
    model = UserCode(spec(written(tmp_path / "whole.safetensors", wanted), kind="Windowed")).model()
    assert torch.equal(model.state_dict()["window"], wanted["first.weight"][:1])
    part = values(**{"first.weight": None, "window": torch.ones(1, 3)})
    said = refusal(spec(written(tmp_path / "part.safetensors", part), kind="Windowed"))
    assert "part.safetensors lacks the tensor first.weight of shape (4, 3); name the file" in said


def test_workers_evaluator_and_run_local_begin_with_them(tmp_path: Path) -> None:
    """A step of length zero leaves them as they are."""
    wanted = values()
    job = spec(written(tmp_path / "whole.safetensors", wanted), strategy={"name": "sync", "lr": 1e-30})
    workloads = Workloads(job, HERE)
    scores: list[dict[str, float]] = []
    run = sim.run(job, workloads, watch=lambda view: scores.append(workloads.evaluate(view)), watch_every=8)
    parts = [wanted[name].reshape(-1) for name in ("first.weight", "norm.weight", "norm.bias", "head.weight")]
    assert torch.allclose(run.center, torch.cat(parts), rtol=0, atol=1e-20)
    drawn = list(local_run.train(spec(strategy={"name": "sync", "lr": 1e-30}, kind="Named"), HERE))[-1].evaluation
    assert list(local_run.train(job, HERE))[-1].evaluation["loss"] != drawn["loss"]


def test_floats_become_those_of_the_model(tmp_path: Path) -> None:
    wanted = values()
    wide = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in wanted.items()}
    model = UserCode(spec(written(tmp_path / "wide.safetensors", wide), args={"dtype": "bfloat16"})).model()
    assert torch.equal(model.head.weight, wanted["head.weight"].bfloat16())  # type: ignore[union-attr, arg-type]
    assert torch.equal(model.first.weight, wanted["first.weight"])  # type: ignore[union-attr, arg-type]


def test_start_from_goes_first_and_a_field_of_this_name_is_none_of_ours(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere.safetensors"
    assert UserCode(spec(nowhere, start_from={"file": "other.safetensors"})).model()
    assert UserCode(spec(nowhere, kind="Named")).model()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"first.weight": None}, r"f\.safetensors lacks the tensor first\.weight of shape \(4, 3\); name the file"),
        ({"head.weight": None}, r"lacks the tensor head\.weight of shape \(2, 4\) and 1 more; name the file"),
        ({"first.weights": torch.ones(1)}, r"f\.safetensors has the tensor first\.weights.*did you mean first\.weight\?.*leave it"),
        ({"first.bias": torch.ones(5)}, r"first\.bias has the shape \(5,\) in .*f\.safetensors, and \(4,\) in the model; build"),
        ({"first.bias": torch.ones(4).long()}, r"first\.bias is torch\.int64 in .*f\.safetensors, and torch\.float32 in the model"),
        (
            {"tied.weight": torch.ones(2, 4)},
            r"^weights\(\): head\.weight and tied\.weight are one .*, and differ in .*f\.safet.*; untie",
        ),
        ({"norm.num_batches_tracked": torch.tensor(1.5)}, r"is torch\.float32 in .*, and torch\.int64 in the model; only float16"),
    ],
)
def test_tensors_that_do_not_fit_are_named(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = written(tmp_path / "f.safetensors", values(**changed))
    assert re.search(said, refusal(spec(file)))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    whole, index = written(tmp_path / "whole.safetensors", values()), sharded(tmp_path, values())
    broken, empty, wrong = tmp_path / "broken.safetensors", tmp_path / "empty", tmp_path / "model.safetensors.index.json"
    broken.write_bytes(b"nothing that one could read")
    empty.mkdir()
    wrong.write_text("[]")
    for files, said in (
        ([tmp_path / "nowhere.safetensors"], r"there is no file .*nowhere\.safetensors; a path begins in the folder of the code"),
        ([broken], r"broken\.safetensors cannot be read as \.safetensors: "),
        ([empty], r"the folder .*empty has no \.safetensors file; name the folder"),
        ([wrong], r"model\.safetensors\.index\.json has no `weight_map` from tensors to files"),
        ([whole, whole], r"whole\.safetensors and .*whole\.safetensors both have the tensor .*; name one of the files"),
        ([], r"weights\(\) must return the path of a \.safetensors file, of an index .*, not a list"),
    ):
        assert re.search(said, refusal(spec(*files))), said
    (index.parent / "model-00002-of-00002.safetensors").unlink()
    assert "names model-00002-of-00002.safetensors, which is not beside it; copy all" in refusal(spec(index))
    assert "members: weights() would start all members alike" in refusal(spec(whole, members=2))


def refusal(job: JobSpec) -> str:
    with pytest.raises(UserError, match=r"failed in weights\(\)") as raised:
        UserCode(job).model()
    return str(raised.value.__cause__)

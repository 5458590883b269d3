"""Several models in one job: each is trained as it would be alone, and they are evaluated together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from pydantic import ValidationError
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import local_run, sim
from gradstream.errors import InvalidWorkload
from gradstream.evaluation.scoring import Scorer
from gradstream.input.data import Batches
from gradstream.model.ensemble import build
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.workload import Workload

MODELS = """\
import torch
from torch import nn

from gradstream import Workload


class Pair(Workload):
    seed: int = -1                            # of the model alone; -1: as the platform seeds it
    shared: bool = False
    classifies = True

    def model(self):
        if self.seed >= 0:
            torch.manual_seed(self.seed)
        self.made = self.made if self.shared and hasattr(self, "made") else nn.Sequential(
            nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Tanh(), nn.Linear(7, 3)
        )
        return self.made

    def dataset(self, split):
        generator = torch.Generator().manual_seed(3)
        x = torch.randn(64, 5, generator=generator)
        return torch.utils.data.TensorDataset(x, x[:, :3].argmax(1))

    def loss(self, model, batch):
        return nn.functional.cross_entropy(model(batch[0]), batch[1])
"""


@pytest.fixture(autouse=True)
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pair_of_a_test.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pair_of_a_test", raising=False)


def job(args: dict[str, Any] | None = None, **fields: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "pair",
            "workload": {"entrypoint": "pair_of_a_test:Pair", "args": args or {}},
            "seed": 5,
            "batch_size": 8,
            "strategy": {"name": "sync", "lr": 0.1},
            "stop": {"epochs": 3},
            **fields,
        }
    )


def problem(spec: JobSpec, rank: int) -> ModelProblem:
    code = UserCode(spec)
    return ModelProblem(code, FlatModel(code.model(), torch.device("cpu")), Batches(code.dataset("train"), spec, rank))


STRATEGIES: list[dict[str, Any]] = [
    {},
    {"optimizer": {"name": "sgd", "momentum": 0.9, "nesterov": True}, "roles": {"worker": {"count": 2}, "server": {"count": 2}}},
    {"strategy": {"name": "easgd", "window": 2, "lr": 0.1}, "gate": "asp", "roles": {"worker": {"count": 3}}},
    {"strategy": {"name": "local_sgd", "window": 3, "lr": 0.1}, "optimizer": {"name": "adam"}, "roles": {"worker": {"count": 2}}},
]


@pytest.mark.parametrize("fields", STRATEGIES, ids=lambda f: f.get("strategy", {}).get("name", "sync"))
def test_each_member_takes_the_path_that_it_would_take_alone(fields: dict[str, Any]) -> None:
    together = sim.run(job(members=2, **fields), problem)
    alone = [sim.run(job({"seed": 5 + member}, **fields), problem) for member in range(2)]
    assert not torch.equal(alone[0].center, alone[1].center)
    assert torch.equal(together.center, torch.cat([run.center for run in alone]))
    for rank, losses in together.losses.items():
        assert losses == [(a + b) / 2 for a, b in zip(alone[0].losses[rank], alone[1].losses[rank], strict=True)]


def test_member_0_is_the_model_of_the_job_without_members() -> None:
    single, both = (UserCode(job(members=members)).model().state_dict() for members in (1, 2))
    assert all(torch.equal(both[f"members.0.{key}"], value) for key, value in single.items())
    assert not torch.equal(both["members.1.0.weight"], single["0.weight"])


def test_members_have_buffers_of_their_own() -> None:
    flat = FlatModel(UserCode(job(members=3)).model(), torch.device("cpu"))
    buffers = flat.buffers()
    assert buffers is not None
    assert (buffers.floats.numel(), buffers.ints.numel()) == (3 * 14, 3)


def test_an_ensemble_is_scored_by_the_mean_of_the_outputs_and_its_members_alone() -> None:
    code = UserCode(job(members=2))
    model, (x, y) = code.model().eval(), code.dataset("eval").tensors  # type: ignore[attr-defined]
    first, second = model.members  # type: ignore[misc]
    with torch.no_grad():
        values = Scorer(code, model, TensorDataset(x, y), 7, torch.device("cpu")).score()
        mean = (first(x) + second(x)) / 2
        assert torch.equal(model(x), mean)
        alone = [float(nn.functional.cross_entropy(member(x), y)) for member in (first, second)]
    assert values["loss"] == pytest.approx(float(nn.functional.cross_entropy(mean, y)), rel=1e-6)
    assert values["members_loss"] == pytest.approx(sum(alone) / 2, rel=1e-6)
    assert values["loss"] < values["members_loss"], "the cross-entropy is convex in the outputs"
    assert set(values) == {"loss", "accuracy", "members_loss", "members_accuracy"}


class Both(NamedTuple):
    scores: torch.Tensor
    rest: Any


def test_the_mean_goes_into_nests_and_refuses_what_has_none() -> None:
    one, three = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 6.0])
    two = torch.tensor([2.0, 4.0])
    mean = Workload().combine([Both(one, {"a": [one], "b": None}), Both(three, {"a": [three], "b": None})])
    assert isinstance(mean, Both)
    assert torch.equal(mean.scores, two)
    assert torch.equal(mean.rest["a"][0], two)
    assert mean.rest["b"] is None
    with pytest.raises(InvalidWorkload, match=r"int64.*Workload.combine"):
        Workload().combine([torch.tensor([1]), torch.tensor([2])])


def test_models_that_share_parameters_are_no_ensemble() -> None:
    with pytest.raises(UserError) as caught:
        UserCode(job({"shared": True}, members=2)).model()
    assert "must make new ones" in str(caught.value.__cause__)


class TakesAName(Workload):
    def model(self) -> nn.Module:
        return nn.Linear(2, 2)

    def dataset(self, split: str) -> TensorDataset:
        return TensorDataset(torch.zeros(4, 2), torch.zeros(4).long())

    def loss(self, model: nn.Module, batch: Any) -> torch.Tensor:
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    def evaluate(self, model: nn.Module, batch: Any) -> dict[str, float]:
        return {"score": 1.0, "members_score": 2.0}


class Hollow(TakesAName):
    def model(self) -> nn.Module:
        made = nn.BatchNorm1d(2)
        made.register_buffer("mask", torch.ones(2, device="meta"), persistent=False)
        return made


def test_a_model_without_values_is_refused() -> None:
    with pytest.raises(InvalidWorkload, match=r"model\(\) leaves mask on the meta device.*build the model on the CPU"):
        build(Hollow(), job({}))


def test_a_metric_that_is_named_like_the_mean_of_the_members_is_refused() -> None:
    named = {"entrypoint": f"{__name__}:TakesAName"}
    code = UserCode(JobSpec.model_validate(job(members=2).model_dump() | {"workload": named}))
    with pytest.raises(UserError) as told:
        Scorer(code, code.model(), code.dataset("eval"), 2, torch.device("cpu")).score()
    assert "evaluate() gives members_score, and an ensemble names the mean of its members so" in str(told.value.__cause__)


def test_what_would_couple_the_members_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"clip_norm.*together"):
        job(members=2, optimizer={"name": "sgd", "clip_norm": 1.0})


def test_the_baseline_trains_an_ensemble_too(tmp_path: Path) -> None:
    last = list(local_run.train(job(members=2, evaluate={"every": 1000}), tmp_path))[-1]
    assert {"accuracy", "members_accuracy"} <= set(last.evaluation)
    assert last.evaluation["loss"] < last.evaluation["members_loss"]

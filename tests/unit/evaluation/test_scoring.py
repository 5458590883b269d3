"""Metrics of the evaluation split: means over batches, what `summarize` makes of all of them, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import Workload, metrics
from gradstream.errors import InvalidWorkload
from gradstream.evaluation.scoring import Scorer
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from tests.nets import CPU


def data() -> TensorDataset:
    x = torch.randn(203, 4, generator=torch.Generator().manual_seed(3))
    noise = torch.randn(203, generator=torch.Generator().manual_seed(4))
    return TensorDataset(x, (x[:, 0] + noise > 0.8).long())


def auc(scores: Tensor, labels: Tensor) -> float:
    """The share of pairs in the right order; an independent way to it."""
    pairs = scores[labels == 1].unsqueeze(1) - scores[labels == 0]
    return float((pairs > 0).double().mean() + 0.5 * (pairs == 0).double().mean())


MADE: list[nn.Linear] = []
"""The models, so that user code reaches one that it was not given."""


class Ranks(Workload):
    kind: str = "auc"

    def model(self) -> nn.Module:
        MADE.append(nn.Linear(4, 2))
        return MADE[-1]

    def dataset(self, split: str) -> TensorDataset:
        return data()

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    def evaluate(self, model: nn.Module, batch: Any) -> dict[str, Any]:
        values = super().evaluate(model, batch)
        if self.kind == "changes":
            next(model.parameters()).data.add_(1)
        if self.kind == "sometimes":
            return {"positive": float(batch[1].float().mean())} if int(batch[1].sum()) else {}
        scores = model(batch[0])
        return values | {"scores": (scores[:, 1] - scores[:, 0]).detach(), "labels": batch[1], "nan": float("nan")}

    def summarize(self, outputs: list[dict[str, Any]]) -> dict[str, float]:
        if self.kind == "sometimes":
            return {}
        if self.kind == "clips":
            MADE[-1].weight.data.clamp_(-0.01, 0.01)
        joined = [torch.cat([output[key] for output in outputs]) for key in ("scores", "labels")]
        return {"auc": auc(*joined), "batches": len(outputs)}


class Plain(Ranks):
    summarize = Workload.summarize


def scored(name: str = "Ranks", batch_size: int = 64, members: int = 1, **args: Any) -> dict[str, float]:
    code = UserCode(job(name, members, **args))
    return Scorer(code, code.model(), code.dataset("eval"), batch_size, CPU).score()


def job(name: str, members: int = 1, **args: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "s",
            "workload": {"entrypoint": f"tests.unit.evaluation.test_scoring:{name}", "args": args},
            "members": members,
            "strategy": {"name": "sync"},
            "stop": {"steps": 1},
            "seed": 5,
        }
    )


@pytest.mark.parametrize("batch_size", [1, 4, 64, 1000])
def test_a_metric_of_the_whole_split_does_not_depend_on_the_batches(batch_size: int) -> None:
    values = scored(batch_size=batch_size)
    x, labels = data().tensors
    model = UserCode(job("Ranks")).model()
    with torch.no_grad():
        scores = model(x)
        assert values["auc"] == pytest.approx(auc(scores[:, 1] - scores[:, 0], labels))
        assert values["loss"] == pytest.approx(float(nn.functional.cross_entropy(scores, labels)), rel=1e-5)
        assert values["accuracy"] == pytest.approx(float((scores.argmax(1) == labels).float().mean()))
    assert values["batches"] == math.ceil(203 / batch_size)
    assert math.isnan(values["nan"]), "a NaN stays one"


class Observes(Workload):
    classifies = False
    own: bool = False

    def model(self) -> nn.Module:
        return nn.Linear(4, 1)

    def dataset(self, split: str) -> TensorDataset:
        return data()

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        logits, labels = model(batch[0]).squeeze(1), batch[1].float()
        self.observe(logits, labels)
        return nn.functional.binary_cross_entropy_with_logits(logits, labels)

    def summarize(self, outputs: list[dict[str, Any]]) -> dict[str, float]:
        return {"auc": -1.0} if self.own else {}


@pytest.mark.parametrize("batch_size", [7, 1000])
def test_what_is_observed_gives_figures_of_the_whole_split(batch_size: int) -> None:
    values = scored("Observes", batch_size=batch_size)
    x, labels = data().tensors
    model = UserCode(job("Observes")).model()
    with torch.no_grad():
        logits = model(x).squeeze(1)
    assert values["auc"] == pytest.approx(auc(logits, labels), abs=1e-3)
    assert values["accuracy"] == pytest.approx(float(((logits > 0) == (labels > 0)).float().mean()))
    assert values["log_loss"] == pytest.approx(values["loss"], rel=1e-5)
    assert set(values) == {"loss", *(metric.name.removeprefix("eval/") for metric in metrics.EVALUATED.values())}


def test_figures_of_each_evaluation_are_its_own() -> None:
    code = UserCode(job("Observes"))
    scorer = Scorer(code, code.model(), code.dataset("eval"), 64, CPU)
    assert scorer.score() == scorer.score()


def test_a_metric_that_the_workload_names_itself_is_its_own() -> None:
    assert scored("Observes", own=True)["auc"] == -1


def test_each_member_observes_for_itself() -> None:
    values = scored("Observes", members=2)
    assert values["auc"] != values["members_auc"]
    assert 0 < values["members_auc"] < 1


def test_each_member_of_an_ensemble_is_summarized_too() -> None:
    values = scored(members=2)
    x, labels = data().tensors
    model = UserCode(job("Ranks", members=2)).model()
    with torch.no_grad():
        alone = [auc(m(x)[:, 1] - m(x)[:, 0], labels) for m in model.members]  # type: ignore[union-attr]
        both = auc(model(x)[:, 1] - model(x)[:, 0], labels)
    assert values["auc"] == pytest.approx(both)
    assert values["members_auc"] == pytest.approx(sum(alone) / 2)


def test_a_metric_that_some_batches_do_not_have_is_the_mean_of_the_others() -> None:
    labels = data().tensors[1]
    having = [part for part in labels.split(2) if int(part.sum())]
    expected = sum(float(part.float().mean()) * len(part) for part in having) / sum(map(len, having))
    assert scored(batch_size=2, kind="sometimes")["positive"] == pytest.approx(expected)


def test_tensors_without_summarize_are_refused() -> None:
    with pytest.raises(UserError) as raised:
        scored("Plain")
    assert "evaluate() gives a tensor of shape (64,) as 'scores', and metrics are numbers" in str(raised.value.__cause__)
    assert "override summarize(outputs)" in str(raised.value.__cause__)


@pytest.mark.parametrize(("kind", "where"), [("changes", r"evaluate\(\)"), ("clips", r"summarize\(\)")])
def test_user_code_that_changes_parameters_is_refused(kind: str, where: str) -> None:
    with pytest.raises(UserError, match=where) as raised:
        scored(kind=kind)
    assert "it changed the parameter weight in place" in str(raised.value.__cause__)


# ---- the default --------------------------------------------------------------------------------------------------------------


class Default(Workload):
    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        return torch.zeros(())


def default(scores: Any, batch: Any) -> dict[str, Any]:
    return Default().evaluate(lambda x: scores, batch)  # type: ignore[arg-type]


X = torch.zeros(8, 2)


@pytest.mark.parametrize(
    ("scores", "batch", "said"),
    [
        (torch.zeros(8, 3), (X, torch.zeros(8, 1).long()), r"labels have the shape \(8, 1\) and the scores \(8, 3\).*squeeze"),
        (torch.zeros(8, 3), (X, torch.zeros(7).long()), r"labels have the shape \(7,\) and the scores \(8, 3\)"),
        (torch.zeros(8, 3), (X, torch.zeros(8)), r"labels are torch.float32.*For regression set classifies = False"),
        (torch.zeros(8, 1), (X, torch.zeros(8).long()), r"one score for each example \(shape \(8, 1\)\).*\(scores > 0\) == labels"),
        (torch.zeros(8, 1), (X, torch.zeros(8, 1).long()), "one score for each example"),
        (torch.zeros(8), (X, torch.zeros(8).long()), r"the scores \(8,\)"),
        (torch.zeros(8, 3, 5), (X, torch.zeros(8, 5).long()), r"wants labels of shape \(8, 3\)"),
        ((torch.zeros(8, 3), None), (X, torch.zeros(8).long()), "the model gives a tuple of 2 Tensor"),
        (torch.zeros(8, 3), {"x": X, "y": X}, "takes batch.0. as input and batch.1. as labels, and the batch is a dict of x, y"),
        (torch.zeros(8, 3), ["one", "two"], "the batch is a list of 2 str"),
        (torch.zeros(8, 3), [X], "the batch is a list of 1 Tensor; override evaluate"),
    ],
)
def test_an_accuracy_without_a_meaning_is_refused(scores: Any, batch: Any, said: str) -> None:
    with pytest.raises(InvalidWorkload, match=said) as raised:
        default(scores, batch)
    assert "classifies = False" in str(raised.value)


def test_an_accuracy_with_a_meaning_is_not() -> None:
    scores = torch.tensor([[1.0, 2.0], [2.0, 1.0], [0.0, 1.0]])
    assert default(scores, (X, torch.tensor([1, 1, 1])))["accuracy"] == pytest.approx(2 / 3)
    assert default(scores.expand(4, 3, 2), [X, torch.ones(4, 3, dtype=torch.uint8)])["accuracy"] == pytest.approx(2 / 3)


def test_a_loss_that_is_a_vector_is_named_in_the_same_words_everywhere() -> None:
    class Vector(Workload):
        classifies = False

        def loss(self, model: Any, batch: Any) -> Tensor:
            return torch.ones(32)

    with pytest.raises(
        InvalidWorkload, match=r"loss\(\) must return a scalar tensor, not a tensor of shape \(32,\); take its mean"
    ):
        Vector().evaluate(nn.Linear(1, 1), None)

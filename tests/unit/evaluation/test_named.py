"""Metrics by name against scikit-learn and torchmetrics, over batches of any size, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sklearn import metrics as of_sklearn
from torch import Tensor, nn
from torch.utils.data import TensorDataset
from torchmetrics import functional as of_torch
from torchmetrics.functional.text import perplexity

from gradstream import Workload
from gradstream.errors import InvalidWorkload
from gradstream.evaluation.named import NamedMetrics
from gradstream.evaluation.scoring import Scorer
from gradstream.metrics.named import NAMED, better_side, metric_key
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.spec.cadence import Evaluate

OF_CLASSES = ["accuracy", "top_2", "top_3", "precision", "recall", "f1", "average_precision", "auc", "perplexity"]
OF_SCORES = ["accuracy", "precision", "recall", "f1", "average_precision", "auc"]
EXACT = {"rel": 1e-6, "abs": 1e-9}


def drawn(examples: int, classes: int, seed: int, labels: int | None = None) -> tuple[Tensor, Tensor]:
    """Scores of each class, some of them equal, and labels that they tell something about."""
    generator = torch.Generator().manual_seed(seed)
    wanted = torch.randint(labels or classes, (examples,), generator=generator)
    scores = torch.randn(examples, classes, generator=generator).mul(2).round(decimals=1)
    scores[torch.arange(examples), wanted] += 1.5
    return scores + torch.arange(classes) * 1e-4, wanted


def computed(keys: Sequence[str], outputs: Tensor, labels: Tensor, batch: int) -> dict[str, float]:
    named = NamedMetrics(keys)
    for at in range(0, len(labels), batch):
        named.add(outputs[at : at + batch], labels[at : at + batch])
    return named.values()


def expected_of_classes(scores: Tensor, labels: Tensor) -> dict[str, float]:
    classes, chosen, shares = scores.shape[1], scores.argmax(1), scores.double().softmax(1)
    macro: dict[str, Any] = {"average": "macro", "zero_division": 0}
    each = [(labels == one).int().numpy() for one in range(classes) if (labels == one).any()]
    return {
        "accuracy": of_sklearn.accuracy_score(labels, chosen),
        "top_2": of_sklearn.top_k_accuracy_score(labels, scores.double(), k=2, labels=range(classes)),
        "top_3": of_torch.accuracy(scores, labels, "multiclass", num_classes=classes, top_k=3, average="micro").item(),
        "precision": of_sklearn.precision_score(labels, chosen, **macro),
        "recall": of_torch.recall(scores, labels, "multiclass", num_classes=classes, average="macro").item(),
        "f1": of_sklearn.f1_score(labels, chosen, **macro),
        "average_precision": float(
            np.mean([of_sklearn.average_precision_score(one, p) for one, p in zip(each, shares.T, strict=False)])
        ),
        "auc": float(np.mean([of_sklearn.roc_auc_score(one, p) for one, p in zip(each, shares.T, strict=False)])),
        "perplexity": perplexity(scores.double()[None], labels[None]).item(),
    }


@pytest.mark.parametrize(("classes", "labels", "batch"), [(4, 4, 7), (5, 4, 64), (3, 3, 1000)])
def test_metrics_of_classes_are_those_of_the_whole_split(classes: int, labels: int, batch: int) -> None:
    """Also where a class never occurs as a label."""
    given = drawn(300, classes, classes, labels)
    assert computed(OF_CLASSES, *given, batch) == pytest.approx(expected_of_classes(*given), **EXACT)


def test_the_second_of_two_classes_is_the_positive_one() -> None:
    scores, labels = drawn(200, 2, 9)
    shares = scores.double().softmax(1)[:, 1]
    assert computed(OF_SCORES, scores, labels, 30) == pytest.approx(
        {
            "accuracy": of_sklearn.accuracy_score(labels, scores.argmax(1)),
            "precision": of_sklearn.precision_score(labels, scores.argmax(1)),
            "recall": of_sklearn.recall_score(labels, scores.argmax(1)),
            "f1": of_sklearn.f1_score(labels, scores.argmax(1)),
            "average_precision": of_sklearn.average_precision_score(labels, shares),
            "auc": of_sklearn.roc_auc_score(labels, shares),
        },
        **EXACT,
    )


@pytest.mark.parametrize("shape", [(200,), (200, 1)])
def test_one_score_for_each_label_is_a_logit(shape: tuple[int, ...]) -> None:
    scores, labels = drawn(200, 2, 3)
    logits = (scores[:, 1] - scores[:, 0]).float()
    chosen = (logits >= 0).int()
    assert computed(OF_SCORES, logits.reshape(shape), labels.float(), 33) == pytest.approx(
        {
            "accuracy": of_sklearn.accuracy_score(labels, chosen),
            "precision": of_sklearn.precision_score(labels, chosen),
            "recall": of_sklearn.recall_score(labels, chosen),
            "f1": of_sklearn.f1_score(labels, chosen),
            "average_precision": of_sklearn.average_precision_score(labels, logits),
            "auc": of_sklearn.roc_auc_score(labels, logits),
        },
        **EXACT,
    )


def test_errors_of_values_are_means_over_all_of_them() -> None:
    generator = torch.Generator().manual_seed(5)
    outputs, labels = (torch.randn(101, 3, generator=generator) for _ in range(2))
    assert computed(["mse", "mae"], outputs, labels, 10) == pytest.approx(
        {"mse": of_sklearn.mean_squared_error(labels, outputs), "mae": of_sklearn.mean_absolute_error(labels, outputs)}, **EXACT
    )


def test_padded_tokens_count_nothing() -> None:
    scores, labels = drawn(60, 5, 1)
    padded = labels.clone().reshape(6, 10)
    padded[:, 7:] = -100
    found = computed(["perplexity", "accuracy"], scores.reshape(6, 10, 5), padded, 2)
    kept = (padded >= 0).reshape(-1)
    assert found["accuracy"] == pytest.approx(of_sklearn.accuracy_score(labels[kept], scores.argmax(1)[kept]))
    assert found["perplexity"] == pytest.approx(perplexity(scores.double()[None, kept], labels[None, kept]).item(), **EXACT)


def test_a_metric_without_a_meaning_is_nan() -> None:
    found = computed(["auc", "average_precision", "f1"], torch.ones(4, 3), torch.zeros(4, dtype=torch.long), 2)
    assert math.isnan(found["auc"])
    assert found["average_precision"] == found["f1"] == 1.0


@pytest.mark.parametrize(
    ("key", "outputs", "labels", "message"),
    [
        ("mse", torch.ones(2, 3), torch.zeros(2, dtype=torch.long), "mse needs values"),
        ("top_5", torch.ones(2), torch.zeros(2), "top_5 needs scores of classes"),
        ("f1", torch.ones(2), torch.tensor([0.0, 0.5]), "all but mse and mae need labels 0 and 1"),
        ("f1", torch.ones(2, 3), torch.ones(3), "override predictions"),
        ("f1", [1], torch.ones(3), "outputs are a list of 1 int, and metrics need one tensor"),
        ("f1", torch.ones(1, 3), torch.tensor([3]), "there is a label 3, and the model gives 3 scores"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_remedy(key: str, outputs: Any, labels: Tensor, message: str) -> None:
    with pytest.raises(InvalidWorkload, match=message):
        NamedMetrics([key]).add(outputs, labels)


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    assert Evaluate.model_validate({"metrics": [*NAMED, "top_2"]}).metrics == (*NAMED, "top-2")
    assert [metric_key(name) for name in ("f1", "top-5")] == ["f1", "top_5"]
    for wrong, hint in {"acuracy": "did you mean 'accuracy'?", "top-0": "did you mean 'top-5'?", "x": "there are accuracy"}.items():
        with pytest.raises(ValidationError) as refused:
            Evaluate.model_validate({"metrics": [wrong]})
        assert hint in str(refused.value) or hint.replace(" are ", " are: ") in str(refused.value)
    assert [better_side(f"eval/{key}") for key in ("top_5", "mse", "f1", "mine")] == ["higher", "lower", "higher", "neither"]


class Clusters(Workload):
    def model(self) -> nn.Module:
        return nn.Linear(2, 3)

    def dataset(self, split: str) -> TensorDataset:
        x = torch.randn(50, 2)
        return TensorDataset(x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long())

    def loss(self, model: nn.Module, batch: list[Tensor]) -> Tensor:
        return nn.functional.cross_entropy(model(batch[0]), batch[1])


class OneCall(Clusters):
    def predictions(self, model: nn.Module, batch: list[Tensor]) -> Any:
        return model(batch[0])


def scorer(name: str, members: int = 1) -> tuple[Scorer, Callable[[], tuple[Tensor, Tensor]]]:
    spec = JobSpec.model_validate(
        {
            "name": "named",
            "workload": {"entrypoint": f"{__name__}:{name}"},
            "strategy": {"name": "sync"},
            "stop": {"steps": 1},
            "members": members,
            "evaluate": {"metrics": ["top-2", "f1"]},
        }
    )
    code = UserCode(spec)
    model, data = code.model(), code.dataset("eval")
    whole = tuple(torch.stack(list(column)) for column in zip(*data, strict=True))  # type: ignore[call-overload]
    return Scorer(code, model, data, 7, torch.device("cpu")), lambda: (model(whole[0]), whole[1])


@pytest.mark.parametrize("members", [1, 2])
def test_a_job_names_metrics_and_its_workload_needs_no_code_for_them(members: int) -> None:
    found, whole = scorer("Clusters", members)
    values = found.score()
    with torch.no_grad():
        scores, labels = whole()
    assert values["f1"] == pytest.approx(of_sklearn.f1_score(labels, scores.argmax(1), average="macro", zero_division=0), **EXACT)
    assert values["top_2"] == pytest.approx(of_sklearn.top_k_accuracy_score(labels, scores.double(), k=2, labels=range(3)), **EXACT)
    assert {"loss", "accuracy"} < values.keys()
    assert ("members_f1" in values) == (members > 1)


def test_predictions_of_another_form_are_named() -> None:
    with pytest.raises(UserError) as raised:
        scorer("OneCall")[0].score()
    assert "predictions() must return outputs and labels, not a tensor" in str(raised.value.__cause__)


def test_two_mini_batches_of_other_numbers_of_classes_are_refused() -> None:
    whole = NamedMetrics(["f1"])
    for classes in (2, 3):
        part = NamedMetrics(["f1"])
        part.add(torch.ones(1, classes), torch.tensor([1]))
        if classes == 2:
            whole.merge(part)
    with pytest.raises(InvalidWorkload, match="the model gives 2 scores in one mini-batch and 3 in another"):
        whole.merge(part)

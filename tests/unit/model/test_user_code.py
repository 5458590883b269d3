"""The user's model and methods, as a job process calls them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from gradstream.errors import PlaneLost
from gradstream.group.peers import PeerLost
from gradstream.input.fetchers import FetcherLost
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode, blaming
from gradstream.process import exits
from gradstream.process.exits import Exit, ExitReason, UserError
from gradstream.spec import JobSpec

SCORES = """\
from gradstream import Workload


class Scores(Workload):
    name: str = ""

    def evaluate(self, model, batch):
        return {self.name: 1} if self.name else 3.0
"""


@pytest.fixture
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The entrypoint of a workload that names its metric by its argument, and without one returns no dict."""
    (tmp_path / "scores_of_a_test.py").write_text(SCORES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "scores_of_a_test", raising=False)
    return "scores_of_a_test:Scores"


def evaluated(entrypoint: str, **args: str) -> dict[str, float]:
    spec = JobSpec.model_validate(
        {"name": "x", "workload": {"entrypoint": entrypoint, "args": args}, "strategy": {"name": "sync"}, "stop": {"steps": 1}}
    )
    return UserCode(spec).evaluate(nn.Linear(1, 1), None)


@pytest.mark.parametrize("name", ["f1", "top 5", "précision/2"])
def test_a_metric_may_have_any_readable_name(scores: str, name: str) -> None:
    assert evaluated(scores, name=name) == {name: 1.0}


@pytest.mark.parametrize("name", ["two\nlines", "x" * 101, "", "eval/loss"])
def test_other_names_of_metrics_are_the_workloads_mistake(scores: str, name: str) -> None:
    with pytest.raises(UserError, match=r"evaluate\(\)"):
        evaluated(scores, name=name)


def test_the_innermost_part_is_blamed() -> None:
    with pytest.raises(UserError, match="inner"), blaming("outer"), blaming("inner"):
        raise ValueError


@pytest.mark.parametrize("lost", [PlaneLost("gone"), PeerLost("gone"), FetcherLost("gone")], ids=repr)
def test_the_loss_of_another_process_is_never_blamed_on_user_code(lost: Exception) -> None:
    with pytest.raises(type(lost)) as caught, blaming("outer"), blaming("inner"):
        raise lost
    assert caught.value is lost


def test_a_sparse_gradient_is_the_same_as_a_dense_one() -> None:
    gradients = []
    for sparse in (False, True):
        flat = FlatModel(nn.Embedding.from_pretrained(torch.ones(5, 2), freeze=False, sparse=sparse), torch.device("cpu"))
        flat.model(torch.tensor([1, 3, 1])).sum().backward()
        gradients.append(flat.gather_gradient().clone())
    assert gradients[0].tolist() == gradients[1].tolist() == [0, 0, 2, 2, 0, 0, 1, 1, 0, 0]


def test_a_mistake_that_nothing_else_caused_is_said_once(tmp_path: Path) -> None:
    with exits.explained(tmp_path):
        raise UserError("evaluate() gives loss, but the target is eval/accuracy")
    assert exits.read(tmp_path, 1).message == "evaluate() gives loss, but the target is eval/accuracy"


def test_an_ending_can_be_stored_whatever_the_user_code_raised_with(tmp_path: Path) -> None:
    with exits.explained(tmp_path), blaming("loss()"):
        raise ValueError("half \ud800 and \x00" + "x" * 10_000)
    read = exits.read(tmp_path, 1)
    assert read.reason is ExitReason.USER_ERROR
    assert read.message.startswith("the workload failed in loss(): ValueError: half \\ud800 and \ufffd")
    assert len(read.message) < 2100
    assert Exit.model_validate_json(read.model_dump_json()) == read


LAYERS = """\
from torch import nn

from gradstream import Workload


class Layers(Workload):
    def model(self):
        return nn.Sequential(nn.Linear(2, 3), nn.Flatten(), nn.Linear(3, 1))
"""


@pytest.mark.parametrize(
    ("optimizer", "said"),
    [
        (
            {"name": "sgd", "groups": [{"match": "*.gain", "lr_factor": 2}]},
            "optimizer.groups.0.match: '*.gain' matches no parameter",
        ),
        (
            {"name": "lars", "groups": [{"match": "*", "lr_factor": 2}, {"match": "*.bias", "weight_decay": 0}]},
            "'*.bias' matches no parameter that an earlier group leaves; the model's 4 parameters begin with 0.weight",
        ),
        ({"name": "muon", "adamw": ["*.bias"]}, "optimizer.adamw.0: '*.bias' matches no matrix"),
        ({"name": "muon", "adamw": ["*.weight"]}, "optimizer.name: muon steps matrices, and there is none"),
        ({"name": "muon", "adamw": ["2.*"]}, None),
        ({"name": "sgd", "groups": [{"match": "0.*", "lr_factor": 2}, {"match": "?.bias", "lr_factor": 3}]}, None),
    ],
)
def test_settings_for_parameters_that_the_model_lacks_are_refused(
    optimizer: dict[str, object], said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "layers_of_a_test.py").write_text(LAYERS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "layers_of_a_test", raising=False)
    given = {"name": "x", "workload": {"entrypoint": "layers_of_a_test:Layers"}, "strategy": {"name": "sync"}, "stop": {"steps": 1}}
    code = UserCode(JobSpec.model_validate({**given, "optimizer": optimizer}))
    if said is None:
        assert isinstance(code.model(), nn.Module)
        return
    with pytest.raises(UserError) as refused:
        code.model()
    assert said in str(refused.value.__cause__)

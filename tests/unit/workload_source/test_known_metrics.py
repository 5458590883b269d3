"""A target or a best metric that the default `evaluate` cannot give is refused before the job runs."""

from __future__ import annotations

from typing import Any

import pytest

from gradstream.spec import JobSpec
from gradstream.workload_source import check_workload, read_texts

HEAD = """
from gradstream import Workload

class Net(Workload):
    def model(self): ...
    def dataset(self, split): ...
    def loss(self, model, batch): ...
"""


def said(body: str, **fields: Any) -> list[str]:
    given = {"name": "job", "workload": {"entrypoint": "net:Net"}, "strategy": {"name": "adag"}, "stop": {"epochs": 1}}
    found = check_workload(read_texts({"net.py": HEAD + body}), JobSpec.model_validate({**given, **fields}))
    return [f"{each.pointer}: {each.message}" for each in found.errors]


def target(metric: str) -> dict[str, Any]:
    return {"epochs": 1, "target": {"metric": metric, "at_least": 0.9}}


def test_a_metric_that_the_default_evaluate_does_not_give_is_refused_with_the_near_one() -> None:
    [told] = said("", stop=target("eval/acuracy"))
    assert told == (
        "/stop/target/metric: Net has the default evaluate(), which gives no eval/acuracy; did you mean eval/accuracy? It gives "
        "eval/loss, eval/accuracy; override evaluate() for other metrics"
    )
    [told] = said("", best={"metric": "eval/f1", "mode": "max"})
    assert told.startswith("/best/metric: Net has the default evaluate(), which gives no eval/f1. It gives")


def test_an_accuracy_of_what_does_not_classify_is_refused() -> None:
    [told] = said("    classifies = False\n", stop=target("eval/accuracy"))
    assert "It gives eval/loss, as classifies is False" in told


OBSERVES = "    def loss(self, model, batch):\n        self.observe(model(batch), batch[1])\n"


def test_figures_of_what_is_observed_are_known() -> None:
    assert said(OBSERVES, stop=target("eval/auc"), best={"metric": "eval/normalized_entropy"}) == []
    [told] = said(OBSERVES, stop=target("eval/acu"))
    assert "did you mean eval/auc?" in told
    [told] = said("", stop=target("eval/auc"))
    assert "gives no eval/auc" in told
    assert "observe" in told


@pytest.mark.parametrize(
    "body",
    [
        "    def evaluate(self, model, batch): ...\n",
        "    def summarize(self, outputs): ...\n",
        "    classifies: bool = False\n",
        "    classifies = not True\n",
        "    def model(self):\n        self.evaluate = make()\n",
    ],
)
def test_what_the_text_does_not_settle_is_not_refused(body: str) -> None:
    assert said(body, stop=target("eval/accuracy")) == []


def test_members_have_metrics_of_their_own() -> None:
    assert said("", stop=target("eval/members_accuracy"), members=2) == []
    assert len(said("", stop=target("eval/members_accuracy"))) == 1

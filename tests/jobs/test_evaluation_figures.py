"""Figures of the evaluation of a job with four workers, against scikit-learn on all examples and the stored model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from tests.platforms import Lab
from tests.userland.observed_split import draw


def test_auc_average_precision_and_f1_are_those_of_all_examples(lab: Lab, tmp_path: Path) -> None:
    job = lab.submit(
        "figures",
        workload={"entrypoint": "observed_split:Observed"},
        strategy={"name": "async", "lr": 0.1},
        roles={"worker": {"count": 4, "device": "cpu"}, "server": {"count": 1}},
        batch_size=16,
        evaluate={"every": "2 epochs", "batch_size": 100},
    )
    job = lab.ended(job)
    assert job.status == "succeeded", job.message
    weights, (x, labels) = lab.weights(job, tmp_path), draw("eval")
    logits = torch.nn.functional.linear(x, weights["weight"], weights["bias"]).squeeze(-1)
    scores = job.progress.eval
    assert scores["auc"] == pytest.approx(roc_auc_score(labels, logits), abs=1e-6)
    assert scores["average_precision"] == pytest.approx(average_precision_score(labels, logits), abs=1e-6)
    assert scores["f1"] == pytest.approx(f1_score(labels, logits >= 0), abs=1e-6)

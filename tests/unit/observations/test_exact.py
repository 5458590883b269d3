"""Figures of an evaluation against scikit-learn on all examples at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, log_loss, precision_score, recall_score, roc_auc_score

from gradstream.observations import exact
from gradstream.observations.exact import ExactObservations
from gradstream.observations.figures import figures
from gradstream.observations.histograms import Observations

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def planted(count: int, digits: int | None = None) -> Columns:
    """Logits, labels and weights; `digits` rounds the logits, so that many are equal."""
    draw = np.random.default_rng(7)
    logits = draw.normal(-1.0, 1.5, count)
    labels = (draw.random(count) < 1 / (1 + np.exp(-logits))).astype(float)
    return logits if digits is None else logits.round(digits), labels, draw.integers(1, 4, count).astype(float)


def observed(kind: type[Observations], columns: Columns, batches: int = 7) -> Any:
    found = kind()
    for part in zip(*(np.array_split(column, batches) for column in columns), strict=True):
        found.observe(*part)
    return found


@pytest.mark.parametrize("digits", [None, 1, 0])
def test_figures_are_those_of_scikit_learn_on_all_examples(digits: int | None) -> None:
    logits, labels, weights = planted(5000, digits)
    found = observed(ExactObservations, (logits, labels, weights)).figures()
    predicted, chosen = 1 / (1 + np.exp(-logits)), logits >= 0
    expected = {
        "auc": roc_auc_score(labels, logits, sample_weight=weights),
        "average_precision": average_precision_score(labels, logits, sample_weight=weights),
        "log_loss": log_loss(labels, predicted, sample_weight=weights),
        "accuracy": np.average(chosen == labels, weights=weights),
        "precision": precision_score(labels, chosen, sample_weight=weights),
        "recall": recall_score(labels, chosen, sample_weight=weights),
        "f1": f1_score(labels, chosen, sample_weight=weights),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)


def test_histograms_alone_would_miss_it() -> None:
    columns = planted(5000)
    found = figures(observed(Observations, columns))["average_precision"]
    assert abs(found - average_precision_score(columns[1], columns[0], sample_weight=columns[2])) > 1e-6


def test_arrays_that_change_later_were_observed_as_they_were() -> None:
    columns = planted(100)
    found = observed(ExactObservations, columns, batches=1)
    before = found.figures()
    columns[0][:] = 0.0
    assert found.figures() == before


def test_a_split_beyond_the_bound_has_the_figures_of_histograms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MAX_EXACT", 4999)
    columns = planted(5000)
    assert observed(ExactObservations, columns).figures() == figures(observed(Observations, columns))


def test_nothing_observed_has_no_figure() -> None:
    assert ExactObservations().figures() == {}

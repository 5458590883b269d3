"""Figures of histograms against golden values, and against figures of all pairs and thresholds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradstream.observations.figures import auc, average_precision, figures
from gradstream.observations.histograms import BUCKETS, REACH, Observations
from gradstream.observations.sliding import WINDOW, SlidingObservations


def planted(seed: int, count: int, shift: float = -1.5) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    logits = draw.normal(shift, 1.5, count)
    return logits, (draw.random(count) < 1 / (1 + np.exp(-logits))).astype(float)


def observed(logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> Observations:
    found = Observations()
    found.observe(logits, labels, np.ones(len(logits)) if weights is None else weights)
    return found


def test_auc_is_the_trapezoid_of_the_histograms() -> None:
    assert auc(np.array([0.0, 1, 2, 5]), np.array([4.0, 2, 1, 1])) == 0.8671875


def test_figures_are_those_of_all_pairs_and_thresholds() -> None:
    logits, labels = planted(1, 3000)
    p = 1 / (1 + np.exp(-logits))
    positive = labels == 1
    pairs = logits[positive][:, None] - logits[~positive]
    entropy = -(labels.mean() * math.log(labels.mean()) + (1 - labels.mean()) * math.log(1 - labels.mean()))
    log_loss = -np.mean(np.where(positive, np.log(p), np.log(1 - p)))
    ranked = positive[np.argsort(-logits)]
    precision_at = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    found = figures(observed(logits, labels))
    assert found["auc"] == pytest.approx(np.mean(pairs > 0), abs=1e-4)
    assert found["average_precision"] == pytest.approx(precision_at[ranked].mean(), abs=2e-3)
    assert found["log_loss"] == pytest.approx(log_loss, rel=1e-12)
    assert found["normalized_entropy"] == pytest.approx(log_loss / entropy, rel=1e-12)
    assert found["calibration"] == pytest.approx(p.mean() / labels.mean(), rel=1e-12)
    assert found["accuracy"] == pytest.approx(np.mean((p >= 0.5) == positive))
    assert found["precision"] == pytest.approx(positive[p >= 0.5].mean())
    assert found["recall"] == pytest.approx((p >= 0.5)[positive].mean())


def test_weights_count_as_repeats_and_labels_by_their_parts() -> None:
    logits, labels = planted(2, 200)
    repeats = np.random.default_rng(3).integers(0, 4, 200).astype(float)
    one, many = observed(logits, labels, repeats), observed(*(np.repeat(each, repeats.astype(int)) for each in (logits, labels)))
    assert figures(one) == pytest.approx(figures(many), rel=1e-12)
    share = observed(np.zeros(4), np.full(4, 0.25))
    parts = observed(np.zeros(4), np.array([1.0, 0, 0, 0]))
    assert figures(share) == pytest.approx(figures(parts))


def test_logits_beyond_the_reach_are_in_the_outer_buckets_and_count_exactly_in_the_loss() -> None:
    found = observed(np.array([-1e6, -REACH, REACH, 1e6]), np.array([0.0, 0, 1, 0]))
    assert found.negatives[0] == 2
    assert found.positives[BUCKETS - 1] == 1
    assert found.negatives[BUCKETS - 1] == 1
    assert found.loss == pytest.approx(1e6)


def test_figures_without_a_meaning_are_nan_and_nothing_observed_has_none() -> None:
    assert figures(Observations()) == {}
    one_class = figures(observed(np.array([-1.0, -2.0]), np.zeros(2)))
    assert all(math.isnan(one_class[name]) for name in ("auc", "normalized_entropy", "calibration", "recall", "average_precision"))
    assert one_class["accuracy"] == 1
    assert one_class["precision"] == 0
    assert average_precision(np.array([0.0, 1]), np.array([1.0, 0])) == 1


def test_parts_add_up_to_the_whole_and_survive_their_journey() -> None:
    logits, labels = planted(4, 1000)
    whole, parts = observed(logits, labels), Observations()
    for part in np.array_split(np.arange(1000), 7):
        packed = observed(logits[part], labels[part]).pack()
        parts.add(Observations.unpack(packed))
    assert (parts.positives == whole.positives).all()
    assert (parts.negatives == whole.negatives).all()
    assert figures(parts) == pytest.approx(figures(whole), rel=1e-12)
    assert Observations.unpack(whole.pack()).pack() == whole.pack()
    assert Observations.unpack(Observations().pack()).examples == 0


@pytest.mark.parametrize("packed", ["", "x", "AAAA", "€", Observations().pack()[:-8], "eJw" + "A" * 40])
def test_what_is_no_packed_observation_is_refused(packed: str) -> None:
    with pytest.raises(ValueError, match="observations cannot be read"):
        Observations.unpack(packed)


def test_a_lie_in_packed_observations_is_refused() -> None:
    for bad in (Observations(loss=math.nan), Observations(predicted=-1.0), Observations(positives=np.full(BUCKETS, math.inf))):
        with pytest.raises(ValueError, match="observations cannot be read"):
            Observations.unpack(bad.pack())


def test_a_window_forgets_the_oldest_examples_and_continues_after_a_resume() -> None:
    sliding, kept = SlidingObservations(), 0
    for step in range(150):
        label = 1.0 if step < 20 else 0.0  # 20,000 positives at first
        sliding.add(observed(np.zeros(1000), np.full(1000, label)))
        kept = min(kept + 1000, WINDOW)
    assert sliding.examples == 150_000
    assert sliding.figures()["accuracy"] == 0  # a logit of 0 is on the side of positives, of which none is left
    resumed = SlidingObservations()
    resumed.load(sliding.state())
    for each in (sliding, resumed):
        each.add(observed(np.array([1.0]), np.array([1.0])))
    assert resumed.figures() == sliding.figures()
    assert resumed.state() == sliding.state()

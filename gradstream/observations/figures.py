"""The figures of observations. One that has no meaning is NaN: AUC and normalized entropy want both classes, calibration and recall
a positive."""

from __future__ import annotations

import math

import numpy as np

from gradstream.observations.histograms import ZERO, Floats, Observations


def figures(observed: Observations) -> dict[str, float]:
    """Return all figures by name; empty: nothing of any weight was observed."""
    positives, negatives = observed.positives, observed.negatives
    hits, missed = float(positives[ZERO:].sum()), float(positives[:ZERO].sum())
    false_alarms, rejections = float(negatives[ZERO:].sum()), float(negatives[:ZERO].sum())
    positive, weight = hits + missed, hits + missed + false_alarms + rejections
    if weight == 0:
        return {}
    log_loss = observed.loss / weight
    return {
        "auc": auc(positives, negatives),
        "log_loss": log_loss,
        "normalized_entropy": _ratio(log_loss, _entropy(positive / weight)),
        "calibration": _ratio(observed.predicted, positive),
        "accuracy": (hits + rejections) / weight,
        "precision": _ratio(hits, hits + false_alarms, 0.0),
        "recall": _ratio(hits, positive),
        "f1": _ratio(2 * hits, 2 * hits + false_alarms + missed),
        "average_precision": average_precision(positives, negatives),
    }


def auc(positives: Floats, negatives: Floats) -> float:
    """Area under the ROC curve, by the trapezoidal rule: in one bucket, every second pair is in order."""
    below = np.cumsum(negatives) - negatives
    return _ratio(float(positives @ (below + negatives / 2)), float(positives.sum()) * float(negatives.sum()))


def average_precision(positives: Floats, negatives: Floats) -> float:
    """Mean of the precision at the threshold of each bucket, weighted by its positives. Buckets without positives count nothing."""
    hits, alarms = np.cumsum(positives[::-1]), np.cumsum((positives + negatives)[::-1])
    filled = positives[::-1] > 0
    return _ratio(float(positives[::-1][filled] @ (hits[filled] / alarms[filled])), float(positives.sum()))


def _entropy(share: float) -> float:
    """Entropy of a class with this share, in nats: the log loss of whoever predicts the share always."""
    return -sum(p * math.log(p) for p in (share, 1 - share) if p > 0)


def _ratio(part: float, whole: float, otherwise: float = math.nan) -> float:
    return part / whole if whole > 0 else otherwise

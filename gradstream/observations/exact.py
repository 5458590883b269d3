"""Observations of one evaluation. One process has all of them, so AUC and average precision need no histograms and are exact."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradstream.observations.figures import auc, average_precision, figures
from gradstream.observations.histograms import Floats, Observations

MAX_EXACT = 4_000_000
"""Predictions that are kept, of 24 bytes each. With more, all figures come from the histograms."""


class ObservedCall(NamedTuple):
    """The observations of one call."""

    buckets: NDArray[np.int64]
    """Those that are not empty."""
    positives: Floats
    negatives: Floats
    loss: float
    predicted: float
    kept: tuple[Floats, Floats, Floats]
    """Logits, and the weight of each as a positive and as a negative."""


class ObservedCalls(Observations):
    """Keeps the observations of each call. Added in their order, they have the bits of the same calls in one process."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[ObservedCall] = []

    def observe(self, logits: Floats, labels: Floats, weights: Floats) -> None:
        seen = Observations()
        seen.observe(logits, labels, weights)
        filled = np.flatnonzero(seen.positives + seen.negatives)
        kept = logits.copy(), weights * labels, weights * (1.0 - labels)
        self.calls.append(ObservedCall(filled, seen.positives[filled], seen.negatives[filled], seen.loss, seen.predicted, kept))


class ExactObservations(Observations):
    """Observations that also keep the predictions themselves."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[tuple[Floats, Floats, Floats]] = []

    def observe(self, logits: Floats, labels: Floats, weights: Floats) -> None:
        super().observe(logits, labels, weights)
        self._keep([(logits.copy(), weights * labels, weights * (1.0 - labels))])

    def add(self, others: Observations) -> None:
        assert isinstance(others, ExactObservations), "a histogram has no predictions to keep"
        super().add(others)
        self._keep(others._kept)

    def add_call(self, call: ObservedCall) -> None:
        self.positives[call.buckets] += call.positives
        self.negatives[call.buckets] += call.negatives
        self.loss += call.loss
        self.predicted += call.predicted
        self.examples += len(call.kept[0])
        self._keep([call.kept])

    def _keep(self, more: list[tuple[Floats, Floats, Floats]]) -> None:
        if self.examples <= MAX_EXACT:
            self._kept += more
        else:
            self._kept.clear()

    def figures(self) -> dict[str, float]:
        """Return all figures by name. See `gradstream.observations.figures`."""
        found = figures(self)
        if not found or not self._kept:
            return found
        logits, positives, negatives = (np.concatenate(column) for column in zip(*self._kept, strict=True))
        distinct, place = np.unique(logits, return_inverse=True)
        above, below = (np.bincount(place, weights, len(distinct)).astype(np.float64) for weights in (positives, negatives))
        return found | {"auc": auc(above, below), "average_precision": average_precision(above, below)}

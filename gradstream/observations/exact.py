"""Observations of one evaluation. One process has all of them, so AUC and average precision need no histograms and are exact."""

from __future__ import annotations

import numpy as np

from gradstream.observations.figures import auc, average_precision, figures
from gradstream.observations.histograms import Floats, Observations

MAX_EXACT = 4_000_000
"""Predictions that are kept, of 24 bytes each. With more, all figures come from the histograms."""


class ExactObservations(Observations):
    """Observations that also keep the predictions themselves."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[tuple[Floats, Floats, Floats]] = []

    def observe(self, logits: Floats, labels: Floats, weights: Floats) -> None:
        super().observe(logits, labels, weights)
        if self.examples <= MAX_EXACT:
            self._kept.append((logits.copy(), weights * labels, weights * (1.0 - labels)))
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

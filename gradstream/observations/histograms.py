"""Logits of binary predictions as two histograms, of positives and of negatives, and sums. Those of several workers add up.

4,096 equal buckets cover logits from -16 to 16; the first and the last one take what lies beyond. A label between 0 and 1 counts in
both histograms, by its parts.
"""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

BUCKETS = 4096
REACH = 16.0
"""Buckets cover the logits from -REACH to REACH."""
ZERO = BUCKETS // 2
"""The first bucket of logits that are not negative."""
_HEAD = struct.Struct("<QQddII")
"""Pass, examples, loss and predicted; then the filled buckets of positives and of negatives."""
_LONGEST = _HEAD.size + 2 * BUCKETS * 10

Floats = NDArray[np.float64]


def _no_weights() -> Floats:
    return np.zeros(BUCKETS)


@dataclass(slots=True, eq=False)
class Observations:
    """Weights by bucket, and sums."""

    positives: Floats = field(default_factory=_no_weights)
    negatives: Floats = field(default_factory=_no_weights)
    loss: float = 0.0
    """Sum of weight x log loss."""
    predicted: float = 0.0
    """Sum of weight x predicted probability."""
    examples: int = 0
    number: int = 0
    """The pass over the data that they are of."""

    def observe(self, logits: Floats, labels: Floats, weights: Floats) -> None:
        """Add predictions: vectors of one length, finite; labels from 0 to 1, weights of at least 0."""
        buckets = np.clip((logits + REACH) * (BUCKETS / (2 * REACH)), 0, BUCKETS - 1).astype(np.int64)
        self.positives += np.bincount(buckets, weights * labels, BUCKETS)
        self.negatives += np.bincount(buckets, weights * (1.0 - labels), BUCKETS)
        self.loss += float(weights @ (np.logaddexp(0.0, logits) - labels * logits))
        self.predicted += float(weights @ np.exp(-np.logaddexp(0.0, -logits)))
        self.examples += len(logits)

    def add(self, others: Observations) -> None:
        self.positives += others.positives
        self.negatives += others.negatives
        self.loss += others.loss
        self.predicted += others.predicted
        self.examples += others.examples

    def pack(self) -> str:
        """Return a text with the filled buckets: some bytes for each."""
        sides = [(np.flatnonzero(weights).astype("<u2"), weights) for weights in (self.positives, self.negatives)]
        head = _HEAD.pack(self.number, self.examples, self.loss, self.predicted, *(len(filled) for filled, _ in sides))
        columns = [part for filled, weights in sides for part in (filled.tobytes(), weights[filled].astype("<f8").tobytes())]
        return base64.b64encode(zlib.compress(head + b"".join(columns), 1)).decode()

    @classmethod
    def unpack(cls, packed: str) -> Observations:
        """Raises: ValueError: this is no such text."""
        try:
            unzip = zlib.decompressobj()
            data = unzip.decompress(base64.b64decode(packed, validate=True), _LONGEST)
            number, examples, loss, predicted, *counts = _HEAD.unpack_from(data)
        except (zlib.error, struct.error, ValueError) as error:
            raise ValueError(f"observations cannot be read: {error}") from error
        if len(data) != _HEAD.size + 10 * sum(counts) or not unzip.eof:
            raise ValueError("observations cannot be read: they have another length than they tell")
        at, sides = _HEAD.size, list[Floats]()
        for count in counts:
            filled = np.frombuffer(data, "<u2", count, at).astype(np.int64)
            weights = np.frombuffer(data, "<f8", count, at + 2 * count)
            at += 10 * count
            sides.append(_side(filled, weights))
        if not (0 <= loss < np.inf and 0 <= predicted < np.inf):
            raise ValueError("observations cannot be read: a sum is negative or not finite")
        positives, negatives = sides
        return cls(positives, negatives, loss, predicted, examples, number)


def _side(filled: NDArray[np.int64], weights: Floats) -> Floats:
    """Raises: ValueError."""
    if len(filled) and (filled.max() >= BUCKETS or (np.diff(filled) <= 0).any()):
        raise ValueError("observations cannot be read: buckets that do not exist, or not in their order")
    if not ((weights > 0) & (weights < np.inf)).all():
        raise ValueError("observations cannot be read: weights that are not positive and finite")
    side = np.zeros(BUCKETS)
    side[filled] = weights
    return side

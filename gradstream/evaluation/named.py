"""Named metrics of an evaluation split, exact over all of its examples: sums, and for AUC and average precision all scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from gradstream.accuracy import described
from gradstream.errors import InvalidWorkload
from gradstream.metrics.named import top_count
from gradstream.observations.exact import ExactObservations
from gradstream.observations.figures import auc, average_precision

MAX_SCORES = 8_000_000
"""Scores that are kept for AUC and average precision of several classes, of 8 bytes each."""
_OF_VALUES = frozenset({"mse", "mae"})
_BY_RANK = {"auc": auc, "average_precision": average_precision}
_REMEDY = "override predictions(model, batch), which returns outputs and labels"


class NamedMetrics:
    """The metrics of these keys, over all batches that are added."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._classes: _Classes | None = None
        self._binary = ExactObservations()
        self._squares = self._distances = 0.0
        self._values = 0

    def add(self, outputs: object, labels: object) -> None:
        """Add a batch: class scores and labels, or one score or value for each label. Raises: InvalidWorkload."""
        scores, wanted = _tensor(outputs, "outputs"), _tensor(labels, "labels")
        if wanted.shape == (*scores.shape[:-1], 1) and scores.shape[-1:] != (1,):
            wanted = wanted.squeeze(-1)
        if scores.ndim and scores.shape[-1] > 1 and scores.shape[:-1] == wanted.shape and not wanted.is_floating_point():
            self._add_classes(scores.reshape(-1, scores.shape[-1]), wanted.reshape(-1).long())
            return
        if scores.shape == (*wanted.shape, 1):
            scores = scores.squeeze(-1)
        if scores.shape != wanted.shape:
            raise InvalidWorkload(
                f"evaluate.metrics: outputs are {described(outputs)} and labels {described(labels)}; give scores of shape (..., "
                f"classes) with whole labels of shape (...), or one score or value for each label: {_REMEDY}"
            )
        self._add_values(scores.reshape(-1).double(), wanted.reshape(-1).double())

    def merge(self, other: NamedMetrics) -> None:
        """Add the batches of another one, which has the same keys. With one batch in each, merging has the bits of adding. Raises:
        InvalidWorkload."""
        if other._classes:
            self._classes = self._classes or _Classes(self._keys, other._classes.count)
            self._classes.merge(other._classes)
        self._binary.add(other._binary)
        self._squares += other._squares
        self._distances += other._distances
        self._values += other._values

    def values(self) -> dict[str, float]:
        """Return the metrics by key; NaN: one that has no meaning, as the AUC of a single class."""
        return {key: self._value(key) for key in self._keys}

    def _value(self, key: str) -> float:
        if self._classes:
            return self._classes.value(key)
        if key == "mse":
            return self._squares / self._values if self._values else math.nan
        if key == "mae":
            return self._distances / self._values if self._values else math.nan
        return self._binary.figures().get(key, math.nan)

    def _add_classes(self, scores: Tensor, labels: Tensor) -> None:
        """Labels below 0, such as -100 of padding, count nothing."""
        if unfit := [key for key in self._keys if key in _OF_VALUES]:
            raise InvalidWorkload(
                f"evaluate.metrics: {unfit[0]} needs values, and the model gives scores of {scores.shape[-1]} classes"
            )
        self._classes = self._classes or _Classes(self._keys, scores.shape[-1])
        counted = labels >= 0
        self._classes.add(scores[counted], labels[counted])

    def _add_values(self, scores: Tensor, labels: Tensor) -> None:
        for key in self._keys:
            if key == "perplexity" or top_count(key):
                raise InvalidWorkload(f"evaluate.metrics: {key} needs scores of classes, and the model gives one for each label")
        distance = scores - labels
        self._squares += float(distance.square().sum())
        self._distances += float(distance.abs().sum())
        self._values += distance.numel()
        if not _OF_VALUES.issuperset(self._keys):
            if not bool(((labels == 0) | (labels == 1)).all()):
                raise InvalidWorkload("evaluate.metrics: with one score for each label, all but mse and mae need labels 0 and 1")
            at, of = scores.cpu().numpy(), labels.cpu().numpy()
            self._binary.observe(at, of, np.ones_like(at))


class _Classes:
    """Counts and scores of each class. The second of two classes is the positive one. Those of more are averaged."""

    def __init__(self, keys: Sequence[str], classes: int) -> None:
        self._keys, self.count = keys, classes
        self._tops = {count: 0 for key in keys if (count := top_count(key))}
        self._hits, self._labels, self._predicted = (np.zeros(classes, np.int64) for _ in range(3))
        self._entropy, self._examples = 0.0, 0
        self._scores: list[tuple[np.ndarray, np.ndarray]] = []
        """Scores and labels of all examples, if a metric ranks them."""

    def add(self, scores: Tensor, labels: Tensor) -> None:
        """Raises: InvalidWorkload."""
        if not len(labels):
            return
        if (highest := int(labels.max())) >= self.count or scores.shape[-1] != self.count:
            raise InvalidWorkload(f"evaluate.metrics: there is a label {highest}, and the model gives {scores.shape[-1]} scores")
        chosen = scores.argmax(-1)
        for kept, found in ((self._hits, labels[chosen == labels]), (self._labels, labels), (self._predicted, chosen)):
            kept += torch.bincount(found, minlength=self.count).cpu().numpy()
        for count in self._tops:
            best = scores.topk(min(count, self.count), -1).indices
            self._tops[count] += int((best == labels[:, None]).any(-1).sum())
        if "perplexity" in self._keys:
            self._entropy += float(functional.cross_entropy(scores.double(), labels, reduction="sum"))
        self._examples += len(labels)
        if not _BY_RANK.keys().isdisjoint(self._keys):
            self._check_size()
            self._scores.append((scores.double().softmax(-1).cpu().numpy(), labels.cpu().numpy()))

    def merge(self, other: _Classes) -> None:
        """Raises: InvalidWorkload."""
        if not other._examples:
            return
        if other.count != self.count:
            raise InvalidWorkload(
                f"evaluate.metrics: the model gives {self.count} scores in one mini-batch and {other.count} in another"
            )
        self._hits += other._hits
        self._labels += other._labels
        self._predicted += other._predicted
        for count in self._tops:
            self._tops[count] += other._tops[count]
        self._entropy += other._entropy
        self._examples += other._examples
        if other._scores:
            self._check_size()
            self._scores += other._scores

    def _check_size(self) -> None:
        """Raises: InvalidWorkload: these are too many scores to keep."""
        if self._examples * self.count > MAX_SCORES:
            raise InvalidWorkload(
                f"evaluate.metrics: auc and average_precision keep all scores, at most {MAX_SCORES:,}, and the split has more: "
                f"{self.count} for each example. Remove them, or compute them in summarize() from a sample"
            )

    def value(self, key: str) -> float:
        if not self._examples:
            return math.nan
        if key == "accuracy":
            return int(self._hits.sum()) / self._examples
        if key == "perplexity":
            return math.exp(min(self._entropy / self._examples, 700.0))
        if count := top_count(key):
            return self._tops[count] / self._examples
        found = list(self._of_classes(key))
        return found[-1] if self.count == 2 and found else float(np.mean(found)) if found else math.nan

    def _of_classes(self, key: str) -> Iterator[float]:
        """Yield a figure for each class that occurs as a label or a prediction; one by ranks needs positives and negatives."""
        if key in _BY_RANK:
            scores, labels = (np.concatenate(column) for column in zip(*self._scores, strict=True))
            for each in np.flatnonzero(self._labels):
                distinct, place = np.unique(scores[:, each], return_inverse=True)
                of_class = (labels == each).astype(np.float64)
                positives, negatives = (
                    np.bincount(place, weights, len(distinct)).astype(np.float64) for weights in (of_class, 1.0 - of_class)
                )
                value = _BY_RANK[key](positives, negatives)
                if not math.isnan(value):
                    yield value
            return
        for hits, there, predicted in zip(self._hits.tolist(), self._labels.tolist(), self._predicted.tolist(), strict=True):
            if there + predicted:
                of = {"precision": predicted, "recall": there, "f1": (there + predicted) / 2}[key]
                yield hits / of if of else 0.0


def _tensor(value: object, name: str) -> Tensor:
    if not isinstance(value, Tensor) or value.is_complex():
        raise InvalidWorkload(f"evaluate.metrics: {name} are {described(value)}, and metrics need one tensor; {_REMEDY}")
    return value.detach()

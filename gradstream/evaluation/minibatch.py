"""The scores of one mini-batch, and their sum over the whole evaluation split.

Added in the order of the mini-batches, they have the same bits wherever each was scored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from gradstream.accuracy import described, is_number
from gradstream.data.source import each
from gradstream.errors import InvalidWorkload
from gradstream.evaluation.named import NamedMetrics
from gradstream.model import ensemble
from gradstream.model.usercode import UserCode, blaming
from gradstream.observations.exact import ExactObservations, ObservedCall, ObservedCalls
from gradstream.observations.recording import recording
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.recorded import LoggedCall, MediaCall
from gradstream.user_logging.scalars import LoggedScalars

Summarize = Callable[[list[dict[str, Any]]], dict[str, float]]


class MinibatchScores(NamedTuple):
    """The scores that one model has on a mini-batch."""

    numbers: dict[str, float]
    """Means over the mini-batch."""
    outputs: dict[str, Any] | None
    """Results of `evaluate`, on the CPU; None: the workload has no `summarize`."""
    observed: list[ObservedCall]
    named: NamedMetrics | None


class ScoredBatch(NamedTuple):
    """The scores of a mini-batch by each model. It can be sent to another process."""

    scores: list[MinibatchScores]
    examples: int
    logged: Sequence[LoggedCall] = ()
    media: Sequence[MediaCall] = ()
    """Calls of the workload to log, in another process."""


class MinibatchScorer:
    """Scores mini-batches by a model, and by each member of an ensemble."""

    def __init__(self, code: UserCode, model: nn.Module, logged: LoggedScalars, media: LoggedMedia) -> None:
        """`logged`, `media`: take what the workload logs."""
        self._code, self._model, self._logged, self._media = code, model, logged, media
        members = ensemble.members(model)
        self.models = [model] if members == [model] else [model, *members]
        """The whole model first."""
        self.keys = code.metric_keys

    def score(self, batch: Any, examples: int) -> ScoredBatch:
        """Return the scores of each model. Only the whole one logs. Raises: UserError."""
        scores = []
        for model in self.models:
            self.let_log(float(examples) if model is self._model else 0.0)
            scores.append(self._score(model, batch))
        return ScoredBatch(scores, examples)

    def let_log(self, weight: float) -> None:
        """Give the weight of what is logged now; 0: it is left out."""
        self._logged.weight, self._media.enabled = weight, weight > 0.0

    def _score(self, model: nn.Module, batch: Any) -> MinibatchScores:
        observed, named = ObservedCalls(), None
        with recording(observed):
            values = self._code.evaluate(model, batch)
        summarizes = self._code.summarize is not None
        with blaming("evaluate()"):
            numbers = _numbers(values, summarizes)
        outputs = {key: each(value, _kept) for key, value in values.items()} if summarizes else None
        if self.keys:
            given, labels = self._code.predictions(model, batch)
            named = NamedMetrics(self.keys)
            with blaming("predictions()"):
                named.add(given, labels)
        return MinibatchScores(numbers, outputs, observed.calls, named)


class SplitScores:
    """The scores that one model has on the mini-batches so far."""

    def __init__(self, summarize: Summarize | None, keys: Sequence[str]) -> None:
        """`keys`: of named metrics."""
        self._summarize = summarize
        self._sums: dict[str, float] = defaultdict(float)
        self._examples: dict[str, int] = defaultdict(int)
        self._outputs: list[dict[str, Any]] = []
        self._observed, self._named = ExactObservations(), NamedMetrics(keys)

    def add(self, scores: MinibatchScores, examples: int) -> None:
        """Raises: UserError."""
        for key, value in scores.numbers.items():
            self._sums[key] += value * examples
            self._examples[key] += examples
        for call in scores.observed:
            self._observed.add_call(call)
        if scores.outputs is not None:
            self._outputs.append(scores.outputs)
        if scores.named:
            with blaming("predictions()"):
                self._named.merge(scores.named)

    def metrics(self) -> dict[str, float]:
        means = {key: total / self._examples[key] for key, total in self._sums.items()}
        means = self._observed.figures() | self._named.values() | means  # what the workload names itself is its own
        return means | self._summarize(self._outputs) if self._summarize is not None else means


def _numbers(values: dict[str, Any], summarizes: bool) -> dict[str, float]:
    """Return the values that are metrics. Raises: InvalidWorkload: another one is left, and there is no `summarize`."""
    numbers = {}
    for key, value in values.items():
        if is_number(value) or (not summarizes and _one_value(value)):
            numbers[key] = float(value)
        elif not summarizes:
            raise InvalidWorkload(
                f"evaluate() gives {described(value)} as '{key}', and metrics are numbers; return a mean over the batch, "
                "or override summarize(outputs), which gets what evaluate() returned for all batches"
            )
    return numbers


def _one_value(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.numel() == 1


def _kept(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor on the CPU, copied if it is a view that keeps something larger in memory."""
    kept = tensor.detach().cpu()
    return kept.clone() if kept.untyped_storage().nbytes() > kept.nbytes else kept

"""Scores of a model on the whole evaluation split: `evaluate` runs on each batch, and `summarize` on all of its results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils.data import Dataset

from gradstream.accuracy import described, is_number
from gradstream.data.source import each
from gradstream.errors import InvalidWorkload
from gradstream.evaluation.named import NamedMetrics
from gradstream.input.data import in_order
from gradstream.model import ensemble
from gradstream.model.guard import ParameterGuard
from gradstream.model.usercode import UserCode, blaming
from gradstream.observations.exact import ExactObservations
from gradstream.observations.recording import recording
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.scalars import LoggedScalars

Summarize = Callable[[list[dict[str, Any]]], dict[str, float]]


class Scorer:
    """Scores one model on the evaluation split, again and again."""

    def __init__(self, code: UserCode, model: nn.Module, dataset: Dataset[Any], batch_size: int, device: torch.device) -> None:
        self._code, self._model, self._dataset = code, model, dataset
        self._batch_size, self._device = batch_size, device
        self._guard = ParameterGuard(model, always=True)
        self.logged = LoggedScalars()
        """The values that the workload has logged since the last `score` began."""
        self.media = LoggedMedia()
        """The images, tables and others that it has logged since then."""

    def score(self) -> dict[str, float]:
        """Return the metrics; for an ensemble also `members_<key>`, the mean of its members' own scores.

        Leaves the model in eval mode. Raises: UserError, if the workload raises or changes parameters."""
        self.logged.take()
        self.media.give_away()
        with self._code.logging_into(self.logged, self.media):
            whole, *alone = self._score_models()
        if not alone:
            return whole
        means = {f"members_{key}": sum(one[key] for one in alone) / len(alone) for key in alone[0]}
        with blaming("evaluate()"):
            _refuse_taken(means.keys() & whole.keys())
        return means | whole

    def end(self, metrics: Mapping[str, float]) -> None:
        """Call on_evaluation_end of the workload, if it has one, with the metrics of the last `score`. Raises: UserError."""
        self._let_log(1.0)
        if self._code.has_hook("on_evaluation_end"):
            self._guard.begin()
            with self._code.logging_into(self.logged, self.media), torch.no_grad():
                self._code.call_hook("on_evaluation_end", self._model, dict(metrics))
            with blaming("on_evaluation_end()"):
                self._guard.check()

    def _let_log(self, weight: float) -> None:
        """Give the weight of what is logged now; 0: it is left out."""
        self.logged.weight, self.media.enabled = weight, weight > 0.0

    def _score_models(self) -> list[dict[str, float]]:
        """Return the metrics of the model, and of the members of an ensemble. Only the model itself logs. Raises: UserError."""
        members = ensemble.members(self._model)
        models = [self._model] if members == [self._model] else [self._model, *members]
        keys = self._code.metric_keys
        splits = [_Split(self._code.summarize, keys) for _ in models]
        self._model.eval()
        self._guard.begin()
        with torch.no_grad(), blaming("dataset('eval')"):
            for batch, examples in in_order(self._dataset, self._batch_size, self._device, self._code.batching):
                for model, split in zip(models, splits, strict=True):
                    self._let_log(float(examples) if model is self._model else 0.0)
                    with recording(split.observed):
                        values = self._code.evaluate(model, batch)
                    split.add(values, examples)
                    if keys:
                        outputs, labels = self._code.predictions(model, batch)
                        with blaming("predictions()"):
                            split.named.add(outputs, labels)
        found = []
        with blaming("evaluate()"):
            self._guard.check()
            for model, split in zip(models, splits, strict=True):
                self._let_log(1.0 if model is self._model else 0.0)
                found.append(split.metrics())
        if self._code.summarize:
            with blaming("summarize()"):
                self._guard.check()
        return found


class _Split:
    """The results of `evaluate` for one model so far."""

    def __init__(self, summarize: Summarize | None, keys: Sequence[str]) -> None:
        """Without `summarize`, it collects only sums. `keys`: of named metrics."""
        self._summarize = summarize
        self._sums: dict[str, float] = defaultdict(float)
        self._examples: dict[str, int] = defaultdict(int)
        self._outputs: list[dict[str, Any]] = []
        self.observed, self.named = ExactObservations(), NamedMetrics(keys)

    def add(self, values: dict[str, Any], examples: int) -> None:
        """Add the results of one batch. Raises: InvalidWorkload: a value is no number, and there is no `summarize`."""
        with blaming("evaluate()"):
            for key, value in values.items():
                if is_number(value) or (self._summarize is None and _one_value(value)):
                    self._sums[key] += float(value) * examples
                    self._examples[key] += examples
                elif self._summarize is None:
                    raise InvalidWorkload(
                        f"evaluate() gives {described(value)} as '{key}', and metrics are numbers; return a mean over the batch, "
                        "or override summarize(outputs), which gets what evaluate() returned for all batches"
                    )
        if self._summarize is not None:
            self._outputs.append({key: each(value, _kept) for key, value in values.items()})

    def metrics(self) -> dict[str, float]:
        means = {key: total / self._examples[key] for key, total in self._sums.items()}
        means = self.observed.figures() | self.named.values() | means  # what the workload names itself is its own
        return means | self._summarize(self._outputs) if self._summarize is not None else means


def _refuse_taken(names: set[str]) -> None:
    """Raises: InvalidWorkload: these names of a workload are also those of means over the members."""
    if names:
        raise InvalidWorkload(
            f"evaluate() gives {', '.join(sorted(names))}, and an ensemble names the mean of its members so; choose other names"
        )


def _one_value(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.numel() == 1


def _kept(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor on the CPU, copied if it is a view that keeps something larger in memory."""
    kept = tensor.detach().cpu()
    return kept.clone() if kept.untyped_storage().nbytes() > kept.nbytes else kept

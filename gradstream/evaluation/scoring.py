"""Scores of a model on the whole evaluation split: `evaluate` runs on each batch, and `summarize` on all of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils.data import Dataset

from gradstream.errors import InvalidWorkload
from gradstream.evaluation.minibatch import MinibatchScorer, ScoredBatch, SplitScores
from gradstream.input.data import EvaluationBatch, EvaluationSplit
from gradstream.model.guard import ParameterGuard
from gradstream.model.usercode import UserCode, blaming
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.recorded import repeat_calls
from gradstream.user_logging.scalars import LoggedScalars


class OtherScorers(Protocol):
    """Processes that score mini-batches beside this one."""

    def score(
        self, batches: Iterator[EvaluationBatch], score_here: Callable[[EvaluationBatch], ScoredBatch]
    ) -> Iterator[ScoredBatch]:
        """Yield the scores of all mini-batches, in their order. `score_here`: scores one of them in this process. Raises:
        UserError. ProcessLost."""

    def end(self) -> None:
        """Raises: UserError: user code has changed parameters in one of them. ProcessLost."""


class Scorer:
    """Scores one model on the evaluation split, again and again."""

    def __init__(self, code: UserCode, model: nn.Module, dataset: Dataset[Any], batch_size: int, device: torch.device) -> None:
        self._code, self._model = code, model
        self.split = EvaluationSplit(dataset, batch_size, device, code.batching)
        self.others: OtherScorers | None = None
        """None: this process scores all mini-batches."""
        self._guard = ParameterGuard(model, always=True)
        self.logged = LoggedScalars()
        """The values that the workload has logged since the last `score` began."""
        self.media = LoggedMedia()
        """The images, tables and others that it has logged since then."""
        self._minibatches = MinibatchScorer(code, model, self.logged, self.media)

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
        self._minibatches.let_log(1.0)
        if self._code.has_hook("on_evaluation_end"):
            self._guard.begin()
            with self._code.logging_into(self.logged, self.media), torch.no_grad():
                self._code.call_hook("on_evaluation_end", self._model, dict(metrics))
            with blaming("on_evaluation_end()"):
                self._guard.check()

    def _score_models(self) -> list[dict[str, float]]:
        """Return the metrics of the model, and of the members of an ensemble. Raises: UserError."""
        models = self._minibatches.models
        splits = [SplitScores(self._code.summarize, self._minibatches.keys) for _ in models]
        self._model.eval()
        self._guard.begin()
        with torch.no_grad(), blaming("dataset('eval')"):
            for scored in self._score_batches():
                with blaming("evaluate()"):
                    repeat_calls(scored.logged, scored.media, self.logged, self.media)
                for split, scores in zip(splits, scored.scores, strict=True):
                    split.add(scores, scored.examples)
        found = []
        with blaming("evaluate()"):
            if self.others:
                self.others.end()
            self._guard.check()
            for model, split in zip(models, splits, strict=True):
                self._minibatches.let_log(1.0 if model is self._model else 0.0)
                found.append(split.metrics())
        if self._code.summarize:
            with blaming("summarize()"):
                self._guard.check()
        return found

    def _score_batches(self) -> Iterator[ScoredBatch]:
        self.split.begin()
        batches = self.split.batches()
        return self.others.score(batches, self._score_here) if self.others else map(self._score_here, batches)

    def _score_here(self, one: EvaluationBatch) -> ScoredBatch:
        return self._minibatches.score(*self.split.take(one))


def _refuse_taken(names: set[str]) -> None:
    """Raises: InvalidWorkload: these names of a workload are also those of means over the members."""
    if names:
        raise InvalidWorkload(
            f"evaluate() gives {', '.join(sorted(names))}, and an ensemble names the mean of its members so; choose other names"
        )

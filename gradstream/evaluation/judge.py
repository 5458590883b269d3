"""The judgement of an evaluation: is it the best so far, is the target reached, has patience run out? Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import BaseModel

from gradstream.process.exits import UserError
from gradstream.spec import JobSpec

StopReason = Literal["target", "patience"]


class BestEvaluation(BaseModel, frozen=True):
    """The evaluation whose model is kept."""

    metric: str
    value: float
    samples: int
    version: int


class JudgeState(BaseModel, frozen=True):
    """A job's record of its evaluations; a new attempt continues with it."""

    best: BestEvaluation | None = None
    without_improvement: int = 0
    """Evaluations in a row that were not better than the best one."""
    samples: int = -1
    """Samples of the last evaluation that counted. A job that resumes from a checkpoint repeats some: they count once."""


class Judgement(NamedTuple):
    is_best: bool
    stop: StopReason | None


class Judge:
    def __init__(self, spec: JobSpec, state: JudgeState | None = None) -> None:
        self._best, self._target, self._patience = spec.best, spec.stop.target, spec.stop.patience
        self.state = state or JudgeState()

    def judge(self, values: Mapping[str, float], *, samples: int, version: int) -> Judgement:
        """Judge the next evaluation, in the order in which they come. Raises: UserError: it lacks a metric of the job file."""
        is_new = samples >= self.state.samples  # else a job that has resumed repeats it, and what followed from it is to come again
        is_best = self._count(values, samples, version)
        if self._target and self._target.reached(_value(values, self._target.metric, "stop.target.metric")):
            return Judgement(is_best, "target")
        if is_new and self._patience is not None and self.state.without_improvement >= self._patience:
            return Judgement(is_best, "patience")
        return Judgement(is_best, None)

    def _count(self, values: Mapping[str, float], samples: int, version: int) -> bool:
        if self._best is None:
            return False
        value = _value(values, self._best.metric, "best.metric")
        before = self.state
        is_best = self._best.is_better(value, before.best.value if before.best else None)
        is_new = samples > before.samples
        best = BestEvaluation(metric=self._best.metric, value=value, samples=samples, version=version) if is_best else before.best
        without = 0 if is_best else before.without_improvement + is_new
        self.state = JudgeState(best=best, without_improvement=without, samples=max(samples, before.samples))
        return is_best


def _value(values: Mapping[str, float], metric: str, key: str) -> float:
    name = metric.removeprefix("eval/")
    if name in values:
        return values[name]
    known = [f"eval/{one}" for one in values]
    close = difflib.get_close_matches(metric, known, 1, 0.8)
    hint = f"did you mean {close[0]}? " if close else ""
    raise UserError(f"{key}: evaluate() gives no {metric}; {hint}It gives {', '.join(known) or 'no metric'}")

"""Predictions for a training with slow workers: how long it takes, or how much it learns in an hour if it has no end. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from backend.stragglers import wording
from backend.stragglers.recorded import RecordedTraining
from backend.stragglers.replay import Paces, Training, learned
from gradstream.spec import JobSpec

_HOUR = 3600.0
_TRUE = 0.25
"""Share by which a replay of the job's own settings may miss what was measured. Beyond it nothing is predicted."""


@dataclass(frozen=True, slots=True)
class Prediction:
    relative: float
    """Time of an example, compared with the training as it is: below 1 is faster."""
    seconds: float | None = None
    """Duration of the whole training; None: it has no end."""
    examples_per_hour: float | None = None
    """Examples that count; None: the training has an end."""


class Forecast(Protocol):
    def under(self, spec: JobSpec) -> Prediction | None:
        """Predict the training under another job file. None: it cannot be."""

    def at(self, paces: Paces) -> Prediction | None:
        """Predict the training with other paces."""

    def without(self, slow: Sequence[int]) -> Prediction | None:
        """Predict the training if these workers leave now."""

    def gain(self, found: Prediction) -> str:
        """Compare it with the training as it is, in words."""


@dataclass(frozen=True)
class DurationForecast:
    """Durations of a training that has an end."""

    found: RecordedTraining
    training: Training
    paces: Paces
    seconds: float
    """Duration of the training as it is."""
    scale: float
    """Its measured duration over that of the replay."""

    @classmethod
    def of(cls, found: RecordedTraining, training: Training, paces: Paces) -> DurationForecast | None:
        """None: the replay of the job's own settings misses its duration, or that is not known."""
        seconds, model = None if found.left is None else found.elapsed + found.left, training.seconds(paces)
        if seconds is None or not model or abs(model - seconds) > _TRUE * seconds:
            return None
        return cls(found, training, paces, seconds, seconds / model)

    def under(self, spec: JobSpec) -> Prediction | None:
        return self._predict(replace(self.training, gate=spec.effective_gate, deal=spec.data.deal), self.paces)

    def at(self, paces: Paces) -> Prediction | None:
        return self._predict(self.training, paces)

    def without(self, slow: Sequence[int]) -> Prediction | None:
        rest = replace(self.training, shares=self.left)
        more = rest.seconds(self.paces.from_now([rank for rank in self.paces.ranks if rank not in slow]))
        return None if more is None else self._of(self.found.elapsed + self.scale * more)

    @cached_property
    def left(self) -> dict[int, float]:
        """Mini-batches that are left of each worker's share."""
        done = self.training.done(self.paces, self.found.elapsed / self.scale)
        return {rank: max(0.0, self.found.shares[rank] - made) for rank, made in zip(self.paces.ranks, done.tolist(), strict=True)}

    def gain(self, found: Prediction) -> str:
        new, old = wording.duration(found.seconds or 0.0), wording.duration(self.seconds)
        return f"Predicted: about {new} in all instead of {old}."

    def _predict(self, training: Training, paces: Paces) -> Prediction | None:
        seconds = training.seconds(paces)
        return None if seconds is None else self._of(self.scale * seconds)

    def _of(self, seconds: float) -> Prediction:
        return Prediction(seconds / self.seconds, seconds=seconds)


@dataclass(frozen=True)
class RateForecast:
    """Examples per hour of a training without an end. Each worker goes on at its last pace."""

    found: RecordedTraining
    paces: Paces
    scale: float
    """Measured examples over mini-batches of the replay."""

    @classmethod
    def of(cls, found: RecordedTraining, paces: Paces) -> RateForecast | None:
        """None: the replay of the job's own settings misses the examples that it has learned from."""
        model = float(np.mean(learned(paces.cells, found.spec.effective_gate)))
        if not found.examples or not model:
            return None
        scale = found.examples / model
        return cls(found, paces, scale) if abs(found.spec.batch_size / scale - 1) <= _TRUE else None

    @property
    def examples_per_hour(self) -> float:
        return self._per_hour(self.found.spec, self.paces)

    def under(self, spec: JobSpec) -> Prediction | None:
        return self._of(self._per_hour(spec, self.paces))

    def at(self, paces: Paces) -> Prediction | None:
        return self._of(self._per_hour(self.found.spec, paces))

    def without(self, slow: Sequence[int]) -> Prediction | None:
        return self.at(self.paces.from_now([rank for rank in self.paces.ranks if rank not in slow]))

    def gain(self, found: Prediction) -> str:
        new, old = wording.count(found.examples_per_hour or 0.0), wording.count(self.examples_per_hour)
        limit = ", if so many arrive" if self.found.follows else ""
        return f"Predicted: about {new} examples an hour instead of {old}{limit}."

    def _per_hour(self, spec: JobSpec, paces: Paces) -> float:
        return _HOUR * self.scale * float(learned(paces.after, spec.effective_gate))

    def _of(self, examples_per_hour: float) -> Prediction | None:
        relative = self.examples_per_hour / examples_per_hour if examples_per_hour else np.inf
        return Prediction(relative, examples_per_hour=examples_per_hour) if np.isfinite(relative) else None

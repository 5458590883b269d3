"""When the model of `run --local` is evaluated: by seconds of training, or by samples."""

from __future__ import annotations

from gradstream.errors import InvalidWorkload
from gradstream.spec import JobSpec
from gradstream.spec.cadence import is_due


class EvaluationClock:
    """Says when the next evaluation is due."""

    def __init__(self, spec: JobSpec, length: int | None) -> None:
        """`length`: examples of one pass. Raises: InvalidWorkload."""
        cadence = spec.evaluate.cadence
        self._seconds, self._every = cadence.seconds, cadence.in_samples(length)
        if cadence.epochs is not None and self._every is None:
            raise InvalidWorkload("evaluate.every: the length of dataset('train') is not known; set data.length, or write samples")
        self._at_seconds, self._at_samples = 0.0, 0

    def is_due(self, seconds: float, samples: int) -> bool:
        if self._every is not None:
            before, self._at_samples = self._at_samples, samples
            return is_due(before, samples, self._every)
        due = self._seconds is not None and seconds - self._at_seconds >= self._seconds
        if due:
            self._at_seconds = seconds
        return due

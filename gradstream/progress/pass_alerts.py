"""Alerts of a job that learns in passes: workers fall behind, and predictions are off. Pure.

Both look at several passes in a row, so that one odd pass raises none. How far workers are behind is looked at when a pass closes:
between two of them it rises with each file and falls again.
"""

from __future__ import annotations

from itertools import pairwise

from pydantic import BaseModel, Field

from gradstream import metrics
from gradstream.metrics import Point

IN_A_ROW = 5
"""Passes."""
OFF = 1.25
"""Predicted over actual positives, or the reverse, from which on a pass is off."""
_CLOSED, _CALIBRATION = metrics.PASSED["log_loss"].name, metrics.PASSED["calibration"].name
TAKEN = frozenset({metrics.BEHIND.name, _CLOSED, _CALIBRATION})
"""Metrics that `take` looks at."""
_RESOLUTIONS = {
    "behind": "Workers no longer fall behind: the examples that they have still to train stopped rising, or are less than a pass.",
    "calibration": f"Calibration is no longer off to one side: a pass was within {1 / OFF} to {OFF}, or off to the other side.",
}


class PassWatch(BaseModel):
    """The last passes of one attempt. Rows of Postgres hold its fields by name."""

    behind: dict[int, int] = Field(default_factory=dict)
    """Examples that each worker has still to train, as it said last."""
    closes: list[tuple[int, int]] = Field(default_factory=list)
    """At the close of the last passes: samples that the model has seen, and examples behind."""
    calibrations: list[float] = Field(default_factory=list)
    """The calibration of each of the last passes."""

    def take(self, point: Point) -> None:
        if point.name == metrics.BEHIND.name:
            self.behind[point.rank] = int(point.value)
        elif point.name == _CLOSED:
            self.closes = [*self.closes, (point.samples, sum(self.behind.values()))][-IN_A_ROW - 1 :]
        elif point.name == _CALIBRATION:
            self.calibrations = [*self.calibrations, point.value][-IN_A_ROW:]

    @property
    def follows(self) -> bool:
        """The job learns from a folder or a stream that grows."""
        return bool(self.behind)

    def alerts(self, *, ended: bool = False) -> dict[str, str]:
        """Return a sentence for each, by its kind. `ended`: the job is over."""
        found = {"behind": self._behind(ended=ended), "calibration": self._calibration(ended=ended)}
        return {kind: sentence for kind, sentence in found.items() if sentence}

    def resolutions(self) -> dict[str, str]:
        """Return the sentence that says an alert is over, for each that there is, by its kind."""
        return {kind: _RESOLUTIONS[kind] for kind in self.alerts()}

    def _behind(self, *, ended: bool) -> str | None:
        """Workers are a whole pass behind, and with each pass more."""
        if len(self.closes) <= IN_A_ROW or not all(before < after for (_, before), (_, after) in pairwise(self.closes)):
            return None
        (first, _), (last, behind) = self.closes[0], self.closes[-1]
        per_pass = (last - first) / IN_A_ROW
        if behind < max(1.0, per_pass):
            return None
        fall, have, is_, add = ("fell", "had", "was", "In the next run, add") if ended else ("fall", "have", "is", "Add")
        return (
            f"Workers {fall} behind: the examples that they {have} still to train rose with each of the last {IN_A_ROW} passes, to "
            f"{behind:,}. That {is_} {behind / max(1.0, per_pass):.1f} passes. {add} workers, raise batch_size, or write fewer "
            "examples."
        )

    def _calibration(self, *, ended: bool) -> str | None:
        """Each of the last passes is off, to the same side."""
        if len(self.calibrations) < IN_A_ROW:
            return None
        low, high = min(self.calibrations), max(self.calibrations)
        if low < OFF and high > 1 / OFF:
            return None
        side = "above" if low >= OFF else "below"
        is_, came = ("was", "came") if ended else ("is", "come")
        slow = "followed it too slowly: in the next run," if ended else "follows it too slowly:"
        return (
            f"Calibration {is_} off: predicted over actual positives was {low:.2f} to {high:.2f} in the last {IN_A_ROW} passes, "
            f"always {side} 1. Look for a change in the data, such as sampled negatives or labels that {came} late. If the data is "
            f"right, the model {slow} raise the learning rate."
        )

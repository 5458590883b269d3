"""Results of a job, for lists: the lowest and highest value of each evaluated figure and of each value that it logs."""

from __future__ import annotations

from pydantic import BaseModel, Field

from gradstream.metrics import Point

MOST = 200
"""Metrics that are kept, as user code may report under any name."""
EVAL = "eval/"


class Results(BaseModel):
    """Finite values over all attempts and processes."""

    last: dict[str, float] = Field(default_factory=dict)
    """Logged values alone; the state of the progress has the last evaluation."""
    low: dict[str, float] = Field(default_factory=dict)
    high: dict[str, float] = Field(default_factory=dict)

    def take(self, point: Point, *, is_logged: bool) -> None:
        """Note a finite value that the job has evaluated, or that its workload logs."""
        if point.name not in self.low and len(self.low) >= MOST:
            return
        self.low[point.name] = min(point.value, self.low.get(point.name, point.value))
        self.high[point.name] = max(point.value, self.high.get(point.name, point.value))
        if is_logged:
            self.last[point.name] = point.value

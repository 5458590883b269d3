"""The loss of a job as a short line for lists, folded as points arrive: never more than `MAX_POINTS`, however long the job runs."""

from __future__ import annotations

import math

from pydantic import BaseModel, Field

MAX_POINTS = 32


class LossCurve(BaseModel):
    """Means of equally many points each, in the order of arrival, and the points that have not filled one yet."""

    means: list[float] = Field(default_factory=list)
    width: int = 1
    """Points in each of `means`."""
    sum: float = 0.0
    count: int = 0

    def take(self, value: float) -> None:
        """One more finite point. When the line is full, neighbours are merged: half as long, twice as wide."""
        self.sum, self.count = self.sum + value, self.count + 1
        if self.count < self.width:
            return
        self.means.append(self.sum / self.count)
        self.sum, self.count = 0.0, 0
        if len(self.means) == MAX_POINTS:
            self.means = [(one + other) / 2 for one, other in zip(self.means[::2], self.means[1::2], strict=True)]
            self.width *= 2

    @property
    def line(self) -> list[float]:
        """The means, and that of the points that are left over if they are worth half a place."""
        return [*self.means, self.sum / self.count] if 2 * self.count >= self.width and self.count else list(self.means)

    @property
    def sketch(self) -> list[float]:
        """`line` in few digits: a hundredth of its height or finer, which is less than a pixel of a sparkline."""
        line = self.line
        height = max(line) - min(line) if line else 0.0
        return [round(mean, 2 - math.floor(math.log10(height))) for mean in line] if height else line

"""Samples per second of a job, lately and on average, folded from what its workers say. Kept in the job's row; pure."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

_SILENCE = 15.0
"""Seconds for which any worker's last word counts; one that speaks rarely may be silent for some of its own pauses."""
_PAUSES = 3


@dataclass(slots=True)
class Pace:
    """Of one worker."""

    rate: float
    at: float
    """When it was last told, by the clock of who folds."""
    pause: float = 0.0
    """Seconds between its last two words."""


class Throughput(BaseModel):
    """Of one attempt. Times are seconds by the clock of who folds, so nodes' clocks need not agree."""

    paces: dict[int, Pace] = Field(default_factory=dict)
    began: tuple[float, int] | None = None
    """When the first word came, and how many samples the center had seen by then."""
    now: tuple[float, int] | None = None
    """The same of the last word."""

    def take(self, rank: int, rate: float, at: float) -> None:
        before = self.paces.get(rank)
        pause = (at - before.at if at > before.at else before.pause) if before else 0.0
        self.paces[rank] = Pace(rate=rate, at=at, pause=pause)

    def note(self, samples: int, at: float) -> None:
        """How far the attempt is, once workers have spoken."""
        if self.paces:
            self.now = at, samples
            self.began = self.began or self.now

    @property
    def lately(self) -> float | None:
        """Of the workers that still train; who has left or hangs counts no more."""
        if not self.paces or self.now is None:
            return None
        return sum(one.rate for one in self.paces.values() if self.now[0] - one.at <= max(_SILENCE, _PAUSES * one.pause))

    @property
    def mean(self) -> float | None:
        """From the first word to the last; of a job that was as far at the first, what was said last."""
        if self.began is None or self.now is None:
            return None
        seconds, samples = self.now[0] - self.began[0], self.now[1] - self.began[1]
        return samples / seconds if seconds > 0 and samples > 0 else self.lately

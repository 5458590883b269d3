"""Samples per second of a job, lately and on average, folded from the reports of shard 0. Kept in the job's row; pure.

Both are samples over wall-clock time: samples are those that the center has seen, and times are all of one clock, that of shard 0.
"""

from __future__ import annotations

from pydantic import BaseModel, Field

from gradstream import metrics
from gradstream.metrics import Point

SPAN = 10.0
"""Seconds that "lately" covers at least."""
CHANGES = 4
"""Changes of the center that it covers at least, as some jobs push once a minute."""
_APART = 1.0
"""Seconds between two marks."""
_KEPT = 16
_PAUSES = 3
"""Typical pauses after which a silence is taken for a standstill."""

_TELLING = frozenset({metrics.ACTIVE.name, metrics.NORM.name, metrics.STALENESS.name})
"""Metrics that come when training begins and with each change. Shard 0 has other figures before all workers are there."""

Mark = tuple[float, int]
"""A moment by shard 0's clock, and the samples that the center had seen."""


class Throughput(BaseModel):
    """The throughput of one attempt."""

    began: Mark | None = None
    """When the workers could begin."""
    now: Mark | None = None
    """When the center changed last."""
    marks: list[Mark] = Field(default_factory=list)
    """Some of the changes, oldest first."""
    heard_at: float = 0.0
    """When shard 0 reported that change, by the clock of the process that folds."""
    silent: float = 0.0
    """Seconds since then."""

    def take(self, point: Point, at: float) -> None:
        """Take a point that shard 0 has measured. `at`: seconds by the clock of the process that folds."""
        mark = (point.time, point.samples)
        if point.name not in _TELLING:
            return
        if self.began is None:
            self.began, self.marks, self.now, self.heard_at = mark, [mark], mark, at
        elif self.now is None or point.samples > self.now[1]:
            self.now, self.heard_at = mark, at
            if point.time >= self.marks[-1][0] + _APART:
                self.marks = [*self.marks[-_KEPT:], mark]

    def note(self, at: float) -> None:
        """Note that something was heard of the job. `at`: seconds by the clock of the process that folds."""
        self.silent = max(0.0, at - self.heard_at) if self.began else 0.0

    @property
    def lately(self) -> float | None:
        """Samples per second lately; they fall to 0 while the job stands still."""
        if self.began is None or self.now is None or self.now[0] <= self.began[0]:
            return None
        since = self._since()
        seconds, samples = self.now[0] - since[0], self.now[1] - since[1]
        pause = seconds / max(1, sum(mark[0] > since[0] for mark in self.marks))
        return samples / (seconds + (self.silent if self.silent > max(SPAN / 2, _PAUSES * pause) else 0.0))

    def _since(self) -> Mark:
        """The newest mark that is far enough back."""
        assert self.began is not None, "training has begun"
        assert self.now is not None, "the center has changed"
        old = [mark for mark in self.marks[:-CHANGES] if mark[0] <= self.now[0] - SPAN]
        return old[-1] if old else self.marks[0] if self.marks else self.began

    @property
    def mean(self) -> float | None:
        """Samples per second from when the workers could begin until the center changed last."""
        if self.began is None or self.now is None or self.now[0] <= self.began[0]:
            return None
        return (self.now[1] - self.began[1]) / (self.now[0] - self.began[0])

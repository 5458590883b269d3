"""Checkpoints that take longer to store than the interval of the job: their alert, and the one that is awaited. Pure."""

from __future__ import annotations

from pydantic import BaseModel

from gradstream.metrics import STORED_CHECKPOINTS, Point
from gradstream.metrics.checkpoints import CHECKPOINT_SECONDS

TAKEN = frozenset(metric.name for metric in STORED_CHECKPOINTS)
"""Metrics that `take` looks at."""
_IN_TIME = 3
"""Checkpoints in a row that are stored within the interval, after which the alert is over."""
_OVER = f"The last {_IN_TIME} checkpoints were stored before the next one was due, so none is skipped any more."


class LateCheckpoint(BaseModel):
    """A checkpoint that took longer to store than the interval."""

    number: int
    seconds: float
    skipped: int
    """Checkpoints that were due meanwhile."""


class CheckpointWatch(BaseModel):
    """The checkpoints of one attempt, as server 0 reports them. Rows of Postgres hold its fields by name."""

    stored: int = 0
    """The number of the last one that is committed."""
    seconds: float = 0.0
    """The time from its copy to its commit."""
    late: LateCheckpoint | None = None
    """The last late one; None: the last few were not."""
    in_time: int = 0
    """Checkpoints since that one."""
    awaited: int = 0
    """The checkpoint that is being stored while others are skipped; 0: none is."""
    since: float = 0.0
    """When the first one was skipped for it. A timestamp in seconds."""

    def take(self, point: Point, at: float) -> None:
        """`point`: of server 0; if it is of a checkpoint, its step is the number. `at`: now, a timestamp in seconds."""
        if point.name not in TAKEN:
            return
        if point.name == CHECKPOINT_SECONDS.name:
            self.stored, self.seconds = point.step, point.value
            self.awaited = self.awaited if self.awaited > point.step else 0
        elif point.step > self.stored:
            self.awaited, self.since = point.step, at
        elif point.step == self.stored:
            self._note_skipped(int(point.value))

    def _note_skipped(self, count: int) -> None:
        self.in_time = 0 if count else self.in_time + 1
        if count:
            self.late = LateCheckpoint(number=self.stored, seconds=self.seconds, skipped=count)
        elif self.in_time >= _IN_TIME:
            self.late = None

    def alerts(self, *, ended: bool = False) -> dict[str, str]:
        """`ended`: the job is over."""
        return {"late": _sentence(self.late, ended=ended)} if self.late else {}

    def resolutions(self) -> dict[str, str]:
        return {"late": _OVER} if self.late else {}


def _sentence(late: LateCheckpoint, *, ended: bool) -> str:
    are, raise_ = ("were", "In the next run, raise") if ended else ("are", "Raise")
    were = "was" if late.skipped == 1 else "were"
    return (
        f"Checkpoints {are} made less often than checkpoint.every says: storing checkpoint {late.number} took "
        f"{late.seconds:.1f} s, and {late.skipped:,} that {were} due meanwhile {were} skipped. {raise_} checkpoint.every, or give "
        "the platform's files a faster disk."
    )

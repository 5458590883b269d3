"""The share of a job's training that is done, and the time left. Computed from metrics as they arrive; pure.

With fixed shares the job ends when the slowest worker has trained its own. With mini-batches dealt on demand all workers end
together, and their paces add up."""

from __future__ import annotations

from collections.abc import Callable
from statistics import quantiles

from pydantic import BaseModel, Field

from gradstream import metrics
from gradstream.metrics import Point
from gradstream.metrics.dealt import DEALT
from gradstream.progress.process_summary import ProcessSummaries, ProcessSummary

_ENOUGH = 3
"""Windows of a worker from which its slow and fast ones are told apart."""
_DEALT = {metric.name: metric.name.removeprefix("data/") for metric in DEALT}
TAKEN = frozenset({metrics.SHARE.name, metrics.ACTIVE.name, *_DEALT})


class Remaining(BaseModel):
    """The shares of the workers of one attempt, by rank."""

    shares: dict[int, int] = Field(default_factory=dict)
    """Mini-batches of each worker in all."""
    left: dict[int, float] = Field(default_factory=dict)
    """Workers that have left for good, and when: the rest of their shares is not trained."""
    dealt: dict[str, int] = Field(default_factory=dict)
    """The ledger of mini-batches that are dealt on demand; empty: each worker has a fixed share."""

    def take(self, point: Point) -> None:
        if point.name == metrics.SHARE.name:
            self.shares[point.rank] = int(point.value)
        elif point.name == metrics.ACTIVE.name and point.value:
            self.left.pop(point.rank, None)
        elif point.name == metrics.ACTIVE.name:
            self.left[point.rank] = point.time
        elif point.name in _DEALT:
            self.dealt[_DEALT[point.name]] = int(point.value)

    def done(self, found: ProcessSummaries) -> float | None:
        """Return the trained share of all mini-batches, 0 to 1. None: their number is not known.

        The rest of a worker that left is not trained any more, so it does not count; that of a job that was stopped does."""
        if len(self.dealt) == len(DEALT):
            return 1 - self._untrained / self.dealt["planned"]
        trained = {rank: min(share, _step(rank, found)) for rank, share in self.shares.items()}
        gone = set() if self._was_stopped(found) else self.left.keys()
        total = sum(trained[rank] if rank in gone else share for rank, share in self.shares.items())
        return sum(trained.values()) / total if total else None

    def _was_stopped(self, found: ProcessSummaries) -> bool:
        """All workers have left, the last one before it had trained its share."""
        if not self.shares or not self.shares.keys() <= self.left.keys():
            return False
        last = max(self.shares, key=lambda rank: self.left[rank])
        return _step(last, found) < self.shares[last]

    def seconds(self, found: ProcessSummaries) -> float | None:
        """Return the seconds until the slowest worker has trained its share, or all together what is left of dealt mini-batches.
        None: no worker's speed is known yet."""
        return self._until_end(found, _pace)

    def bounds(self, found: ProcessSummaries) -> tuple[float, float] | None:
        """The same if each worker goes on as in its fast windows (90th percentile of its paces), and as in its slow ones (10th).
        `seconds` is never outside. None: no worker has enough windows yet."""
        likely, low, high = self.seconds(found), self._until_end(found, _fast), self._until_end(found, _slow)
        if likely is None or low is None or high is None:
            return None
        return min(low, likely), max(high, likely)

    def _until_end(self, found: ProcessSummaries, pace_of: Callable[[ProcessSummary], float]) -> float | None:
        if len(self.dealt) == len(DEALT):
            return self._until_dealt(found, pace_of)
        waiting = {rank: share - _step(rank, found) for rank, share in self.shares.items() if rank not in self.left}
        paces = {rank: pace for rank in waiting if (one := found.worker(rank)) and (pace := pace_of(one))}
        if not paces:
            return None if waiting else 0.0
        slowest = min(paces.values())
        return max(max(0.0, mini_batches / paces.get(rank, slowest) - _ago(rank, found)) for rank, mini_batches in waiting.items())

    @property
    def _untrained(self) -> int:
        return self.dealt["outstanding"] + self.dealt["returned"] + self.dealt["left"]

    def _until_dealt(self, found: ProcessSummaries, pace_of: Callable[[ProcessSummary], float]) -> float | None:
        summaries = (found.worker(rank) for rank in self.shares if rank not in self.left)
        pace = sum(pace_of(one) for one in summaries if one)
        return self._untrained / pace if pace else None if self._untrained else 0.0


def _step(rank: int, found: ProcessSummaries) -> int:
    one = found.worker(rank)
    return one.step if one else 0


def _pace(one: ProcessSummary) -> float:
    """Mini-batches per second, lately. One that has not pushed for longer than usual becomes slower."""
    overdue = max(0.0, one.at - one.since - one.pause)
    return one.recent_steps / (one.recent_seconds + overdue) if one.recent_seconds > 0 else 0.0


def _fast(one: ProcessSummary) -> float:
    """Mini-batches per second that only one in ten windows exceeds; 0: too few windows."""
    return quantiles(one.paces, n=10, method="inclusive")[-1] if len(one.paces) >= _ENOUGH else 0.0


def _slow(one: ProcessSummary) -> float:
    """Mini-batches per second that only one in ten windows falls below; 0: too few windows, or it stood still in them."""
    return quantiles(one.paces, n=10, method="inclusive")[0] if len(one.paces) >= _ENOUGH else 0.0


def _ago(rank: int, found: ProcessSummaries) -> float:
    """Seconds since its last push, in which the next one was worked on."""
    one = found.worker(rank)
    return min(max(0.0, one.at - one.since), one.pause) if one else 0.0

"""Alerts of a followed stream or topic: workers cannot reach it, or partitions have no leader. Pure."""

from __future__ import annotations

from pydantic import BaseModel, Field

from gradstream import metrics
from gradstream.metrics import Point

TAKEN = frozenset({metrics.UNREACHABLE.name, metrics.LEADERLESS.name})
"""Metrics that `take` looks at."""
_REACHED = "Every worker reaches the stream or topic that the job follows."
_LED = "Every partition of the followed topic has a leader again."


class SourceTrouble(BaseModel):
    """As the workers of one attempt reported last. Rows of Postgres hold its fields by name."""

    unreached_by: list[int] = Field(default_factory=list)
    """Workers that cannot reach it."""
    leaderless: dict[int, tuple[int, int]] = Field(default_factory=dict)
    """The lowest partition without a leader, and how many there are, by worker. Workers that see none are left out."""

    def take(self, point: Point) -> None:
        """The step of `data/leaderless` is the lowest such partition."""
        if point.name == metrics.UNREACHABLE.name:
            others = {rank for rank in self.unreached_by if rank != point.rank}
            self.unreached_by = sorted(others | {point.rank} if point.value else others)
        elif point.name == metrics.LEADERLESS.name:
            self.leaderless.pop(point.rank, None)
            if point.value:
                self.leaderless[point.rank] = point.step, int(point.value)

    def alerts(self, *, ended: bool = False) -> dict[tuple[str, str], str]:
        """Return one sentence for all workers of each kind, by kind and partitions. `ended`: the job is over."""
        found = {("unreachable", ""): _unreachable_sentence(self.unreached_by, ended=ended)} if self.unreached_by else {}
        if self.leaderless:
            worker = min(self.leaderless)
            lowest, count = self.leaderless[worker]
            found["leaderless", f"{lowest} {count}"] = _leaderless_sentence(worker, lowest, count, ended=ended)
        return found

    def resolutions(self) -> dict[str, str]:
        """Return the sentence that says an alert is over, for each kind that there is."""
        return ({"unreachable": _REACHED} if self.unreached_by else {}) | ({"leaderless": _LED} if self.leaderless else {})


def _unreachable_sentence(workers: list[int], *, ended: bool) -> str:
    who = f"Workers {', '.join(map(str, workers[:-1]))} and {workers[-1]}" if len(workers) > 1 else f"Worker {workers[0]}"
    reason = f"The log of worker-{workers[0]} has the address and the reason."
    if ended:
        return (
            f"{who} could not reach the stream or topic that the job followed when the job ended. Before the next run, start its "
            f"Redis or its brokers again, or mend the network. {reason}"
        )
    return (
        f"{who} cannot reach the stream or topic that the job follows. Workers wait up to 10 min, or 30 s if it never answered. "
        f"Then the job fails. Start its Redis or its brokers again, or mend the network. {reason}"
    )


def _leaderless_sentence(worker: int, lowest: int, count: int, *, ended: bool) -> str:
    others = f" and {count - 1} more partitions" if count > 2 else " and another partition" if count == 2 else ""
    which, addresses = f"Partition {lowest}{others} of the followed topic", f"The log of worker-{worker} has topic and addresses."
    if ended:
        return (
            f"{which} had no leader that answered when the job ended. Before the next run, bring the broker back, or elect another "
            f"leader. {addresses}"
        )
    return (
        f"{which} {'has' if count == 1 else 'have'} no leader that answers. Workers wait up to 10 min, then the job fails. "
        f"Bring the broker back, or elect another leader. {addresses}"
    )

"""Alerts of partitions of a followed topic that have no leader. Pure."""

from __future__ import annotations

from pydantic import BaseModel, Field

from gradstream.metrics import Point


class LeaderlessPartitions(BaseModel):
    """As the workers of one attempt reported last. Rows of Postgres hold its fields by name."""

    by_worker: dict[int, tuple[int, int]] = Field(default_factory=dict)
    """The lowest partition without a leader, and how many there are, by worker. Workers that see none are left out."""

    def take(self, point: Point) -> None:
        """`point`: of `data/leaderless`. Its step is the lowest such partition."""
        self.by_worker.pop(point.rank, None)
        if point.value:
            self.by_worker[point.rank] = point.step, int(point.value)

    def alerts(self) -> dict[str, str]:
        """Return one sentence for all workers, by a key that changes with the partitions."""
        if not self.by_worker:
            return {}
        worker = min(self.by_worker)
        lowest, count = self.by_worker[worker]
        return {f"{lowest} {count}": leaderless_sentence(worker, lowest, count)}

    def resolutions(self) -> dict[str, str]:
        """Return the sentence that says the alert is over, while there is one."""
        return {"": "Every partition of the followed topic has a leader again."} if self.by_worker else {}


def leaderless_sentence(worker: int, lowest: int, count: int) -> str:
    others = f" and {count - 1} more partitions" if count > 2 else " and another partition" if count == 2 else ""
    return (
        f"Partition {lowest}{others} of the followed topic {'has' if count == 1 else 'have'} no leader that answers. Workers wait "
        f"up to 10 min, then the job fails. Bring the broker back, or elect another leader. The log of worker-{worker} has topic "
        "and addresses."
    )

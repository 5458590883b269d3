"""A place in thousands of partitions travels with each response: such a message does not fit into a pipe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gradstream.center.positions import Place
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster, Killed
from tests.integration.plane.test_collective import Uneven

STEPS = 6


class Partitioned(Uneven):
    """Its mini-batches are of so many partitions."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank)
        self._place: Place = tuple((1_000_000 * number, 1_700_000_000_000 + number) for number in range(4000))

    def place(self) -> Place:
        return self._place

    def go_to(self, position: int, place: Place) -> None:
        assert place in ((), self._place)


def test_the_next_incarnation_of_a_worker_learns_its_place(cluster: Callable[..., Cluster]) -> None:
    spec = job({"name": "async", "lr": 0.05}, workers=2, shards=2, steps=STEPS, on_worker_loss="continue")
    attempt, lost = cluster(spec, Partitioned, local=range(2)), []

    def lose(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 3 and not lost:
            lost.append(w)
            raise Killed

    def live() -> None:
        try:
            attempt.work(1)
        except Killed:
            plane.post_leave(attempt.admin, attempt.j, 1, 0)
            attempt.work(1, 1)

    attempt.before_round = lose
    for rank in range(2):
        attempt.thread(attempt.serve, rank)
    attempt.thread(attempt.work, 0)
    attempt.thread(live)
    attempt.finish()
    assert len(lost) == 1
    assert attempt.shared is not None
    left = list(Path(str(attempt.shared.of(attempt.j))).glob("0.0.*.response"))
    assert len(left) <= 2, "a worker removes what it has read: all but the last response of each shard"
    assert [attempt.servers[0].shard.ledger.accounts[rank].pushed for rank in range(2)] == [STEPS, STEPS]

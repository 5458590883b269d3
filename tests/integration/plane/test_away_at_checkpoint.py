"""A worker that is away while a checkpoint is made, and then trains to its end: a new attempt trains its mini-batches again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from gradstream.process.order import Resume
from gradstream.process.saving.checkpoint_names import MANIFEST, folder_of
from gradstream.sim.toys import job
from gradstream.training.replica import Replica
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster, Killed
from tests.integration.plane.test_collective import Uneven
from tests.support import eventually

STEPS = 12


def test_it_trains_again_what_the_checkpoint_lacks(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    spec = job({"name": "async", "lr": 0.05}, workers=2, shards=1, steps=STEPS, on_worker_loss="continue")
    first, is_away = cluster(spec, Uneven, folder=tmp_path), threading.Event()
    stored = tmp_path / "store" / "1"

    def lose(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 3 and not is_away.is_set():
            is_away.set()
            raise Killed
        if rank == 0 and w.t == 5:
            is_away.wait()
            plane.post_leave(first.admin, first.j, 1, 0)
            plane.control_checkpoint(first.admin, first.j, 1)
        if rank == 0 and w.t == 8:
            eventually(lambda: (stored / folder_of(1) / MANIFEST).exists(), "the checkpoint is stored")
            first.work(1, 1)
            eventually(lambda: list((stored / folder_of(0)).glob("worker-1*")), "its last state is stored")
            raise Killed

    first.before_round = lose
    first.start()
    for thread in first.threads[1:]:
        thread.join()
    again = cluster(spec, Uneven, number=2, job=first.job, folder=tmp_path, resume=Resume(attempt=1, checkpoint=1))
    again.run()
    accounts = plane.ledger(again.admin, again.j)
    assert [accounts[rank].pushed for rank in range(2)] == [STEPS, STEPS]
    assert [again.servers[0].shard.members.positions[rank] for rank in range(2)] == [STEPS, STEPS]

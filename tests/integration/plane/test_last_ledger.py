"""A shard that its node ends before its work is done leaves a ledger that is of the last push it has taken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradstream import metrics
from gradstream.sim.toys import Toy, job
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster
from tests.support import eventually

PROGRAM = """
import sys
from pathlib import Path
from gradstream.process.order import ProcessOrder
from ps_node.__main__ import main
sys.exit(main(ProcessOrder.model_validate_json(Path(sys.argv[1], "order").read_text()), Path(sys.argv[1])))
"""
ACCOUNTS = (metrics.APPLIED, metrics.DEFERRED, metrics.DROPPED, metrics.PENDING)


@pytest.mark.more
def test_a_shard_that_is_told_to_end_stores_its_ledger(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    attempt = cluster(job({"name": "async", "lr": 1e-6}, workers=2, shards=1, steps=10**6), Toy)
    (tmp_path / "order").write_text(attempt.order("server", 0).model_dump_json())
    hourly = os.environ | {"GRADSTREAM_PS_REPORT_EVERY": "3600"}  # what is told at the end is all that is told
    server = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)], env=hourly)
    try:
        workers = [attempt.thread(attempt.work, rank) for rank in range(2)]
        eventually(lambda: sum(account.pushed for account in plane.ledger(attempt.admin, attempt.j).values()) > 20, "some pushes")
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == -signal.SIGTERM, "it was killed, and that has to be seen"
    finally:
        server.kill()
        server.wait()
    noted = plane.ledger(attempt.admin, attempt.j)
    found = {rank: account.pushed for rank, account in noted.items()}
    assert not any(account.pending for account in noted.values()), "under asp each is decided at once"
    stored = {rank: _last(attempt, metrics.PUSHED, rank) for rank in (0, 1)}
    assert stored == found
    for rank, count in found.items():
        assert count == sum(_last(attempt, metric, rank) for metric in ACCOUNTS)
    plane.destroy(attempt.admin, attempt.j)
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive()


def _last(attempt: Cluster, metric: metrics.Metric, rank: int) -> float:
    """The first decision is reported at once, so there may be an earlier point."""
    return max((point for point in attempt.points(metric) if point.rank == rank), key=lambda point: point.step).value

"""How stale pushes were, in seconds and as a distance: told over Redis and through shared memory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gradstream import metrics
from gradstream.center.parameters.drift import EVERY
from gradstream.process.order import Resume
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster

STEPS = 4 * EVERY


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=20_011)


@pytest.mark.few(2)
@pytest.mark.parametrize("local", [(), (0, 1), (1,)], ids=["redis", "memory", "both"])
@pytest.mark.parametrize("name", ["async", "dc_asgd"])
def test_every_worker_hears_of_both(name: str, local: tuple[int, ...], cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(job({"name": name, "lr": 0.01}, workers=3, shards=2, steps=STEPS, gate={"ssp": 2}), bowl, local=local)
    attempt.run()
    stale = {(point.rank, point.step): point.value for point in attempt.points(metrics.STALENESS)}
    seconds = {(point.rank, point.step): point.value for point in attempt.points(metrics.STALENESS_SECONDS)}
    assert seconds.keys() == stale.keys()
    assert len(seconds) == 3 * STEPS
    assert all((value > 0) == (stale[place] > 0) and value < 60 for place, value in seconds.items())
    for rank in range(3):
        assert 1 <= len(attempt.distances[rank]) <= STEPS // EVERY
    assert 0 < max(max(told) for told in attempt.distances.values()) < 1e6


def test_under_bsp_nothing_is_stale(cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(job({"name": "sync", "lr": 0.01}, workers=2, steps=2 * EVERY, gate="bsp"), bowl)
    attempt.run()
    assert {point.value for point in attempt.points(metrics.STALENESS_SECONDS)} == {0.0}
    assert not any(attempt.distances.values())


@pytest.mark.more
def test_both_go_on_after_a_resume(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    spec = job({"name": "async", "lr": 0.01}, workers=2, shards=2, steps=STEPS)
    first = cluster(spec, bowl, folder=tmp_path)

    def ask_for_a_checkpoint(rank: int, w: Replica) -> None:
        if (rank, w.t) == (0, EVERY):
            plane.control_checkpoint(first.admin, first.j, 1)

    first.before_round = ask_for_a_checkpoint
    first.run()
    second = cluster(spec, bowl, folder=tmp_path, number=2, job=first.job, resume=Resume(attempt=1, checkpoint=1))
    second.run()
    seconds = [point.value for point in second.points(metrics.STALENESS_SECONDS)]
    assert len(seconds) == len(second.points(metrics.STALENESS)) > STEPS
    assert max(seconds) < 60
    assert all(second.distances.values())

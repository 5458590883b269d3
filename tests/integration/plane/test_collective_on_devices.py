"""Workers whose vectors all lie on a device have the bits of gloo on the host. Here the device is the CPU, and gloo adds up."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from redis import Redis as Client
from torch.distributed import is_nccl_available

from gradstream.errors import PlaneLost
from gradstream.process.exits import UserError
from gradstream.process.order import Resume
from gradstream.serverless.awaited import report_nothing
from gradstream.serverless.collective.device_group import DeviceGroup
from gradstream.serverless.ports import make_port
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.redis.client import connect
from gradstream.wire.transport.layout import Layout
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.test_collective import ALLOWED, Growing, Uneven, run_with_a_checkpoint, spec_of
from tests.integration.plane.test_overlap import CASES as OVERLAPS
from tests.integration.plane.test_overlap import sent, small_buckets  # noqa: F401  # fixtures, the second for every test
from tests.integration.plane.test_overlap import spec_of as overlap_of
from tests.integration.plane.test_serverless import CASES
from tests.support import TIMEOUT, eventually

CPU = torch.device("cpu")


@pytest.mark.few(3)
@pytest.mark.parametrize("workers", [3, 1])
@pytest.mark.parametrize("case", ALLOWED)
def test_a_job_has_the_bits_of_gloo(case: str, workers: int, cluster: Callable[..., Cluster]) -> None:
    spec = spec_of(CASES[case], workers)
    expected = cluster(spec, Uneven, gloo=True).run()
    attempt = cluster(spec, Uneven, gloo=True, device=CPU)
    found = attempt.run()
    assert torch.equal(found, expected)
    for rank in range(workers):
        assert torch.equal(attempt.ports[rank].shard.center.theta, found), "all workers hold the same bits"
    assert attempt.keys("d") == attempt.keys("c") == [], "the evaluator's center is gone, and no other has gone through Redis"


@pytest.mark.few(2)
@pytest.mark.parametrize("case", OVERLAPS)
def test_buckets_go_ahead_as_by_gloo(case: str, sent: Counter[str], cluster: Callable[..., Cluster]) -> None:  # noqa: F811
    spec = overlap_of(workers=2)
    expected, by_gloo = cluster(spec, OVERLAPS[case], gloo=True).run(), dict(sent)
    sent.clear()
    assert torch.equal(cluster(spec, OVERLAPS[case], gloo=True, device=CPU).run(), expected)
    assert dict(sent) == by_gloo
    assert sent["early"] > 0 or case in ("Whole", "InPasses")


WAYS: dict[str, tuple[int, dict[str, Any]]] = {
    "gloo": (1, {"gloo": True}),
    "a device": (1, {"gloo": True, "device": CPU}),
    "servers": (2, {}),
}
"""Shards of the job, and its cluster."""


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("first", "second"),
    [("a device", "a device"), ("a device", "gloo"), ("a device", "servers"), ("gloo", "a device"), ("servers", "a device")],
)
def test_a_checkpoint_is_resumed_any_other_way(first: str, second: str, cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    case = {"strategy": {"name": "sync", "lr": 0.02}, "optimizer": {"name": "adam"}, "evaluate": {"average": 0.5}}
    (shards, way), (other_shards, other_way) = WAYS[first], WAYS[second]
    begun = cluster(spec_of(case, 3, steps=200, shards=shards), Uneven, folder=tmp_path, **way)
    whole = run_with_a_checkpoint(begun)
    again = {"folder": tmp_path, "job": begun.job, "resume": Resume(attempt=1, checkpoint=1)}
    found = cluster(spec_of(case, 3, steps=200, shards=other_shards), Uneven, number=2, **again, **other_way).run()
    torch.testing.assert_close(found, whole, rtol=1e-5, atol=1e-6)
    assert "servers" in (first, second) or torch.equal(found, whole)


@pytest.mark.more
def test_a_checkpoint_holds_the_pushes_of_a_round_that_stays_open(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    from tests.integration.plane.test_collective import COME

    spec, files = spec_of(CASES["sync with adam"], 3, steps=20), tmp_path / "store" / "1" / "checkpoints" / "1"
    attempt = cluster(spec, Growing, folder=tmp_path, gloo=True, device=CPU)
    COME.clear()
    attempt.start()
    eventually(lambda: 0 in attempt.ports and attempt.ports[0].shard.gate.pending.keys() == {0, 2}, "worker 1 waits for data")
    plane.control_checkpoint(attempt.admin, attempt.j, 1)
    eventually(lambda: len(list(files.glob("*.safetensors"))) == 4, "the checkpoint of a center and three workers")
    COME.set()
    whole = attempt.finish()
    again = {"folder": tmp_path, "job": attempt.job, "resume": Resume(attempt=1, checkpoint=1)}
    assert torch.equal(cluster(spec, Growing, number=2, gloo=True, device=CPU, **again).run(), whole)


def test_a_worker_trains_in_the_center_on_its_device(cluster: Callable[..., Cluster]) -> None:
    attempt, homes = cluster(spec_of(CASES["sync"], 2), Uneven, gloo=True, device=CPU), dict[int, list[int]]()

    def note(rank: int, w: Replica) -> None:
        homes[rank] = [w.theta.data_ptr(), *(center.data_ptr() for center in attempt.ports[rank].centers)]

    attempt.before_round = note
    attempt.run()
    assert set(homes) == {0, 1}
    assert all(theta == center for theta, center in homes.values())


def test_all_end_when_the_attempt_is_closed_while_they_wait_for_one(cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(spec_of(CASES["sync"], 3, steps=100_000), Uneven, gloo=True, device=CPU)

    def die(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 5:
            plane.destroy(attempt.admin, attempt.j)  # as after the loss of its machine, which closes no connection
            raise SystemExit

    attempt.before_round = die
    attempt.start()
    eventually(lambda: not any(thread.is_alive() for thread in attempt.threads), "all workers end")
    assert sorted((type(error) for error in attempt.errors), key=str) == sorted([SystemExit, PlaneLost, PlaneLost], key=str)


@pytest.fixture
def redis(cluster: Callable[..., Cluster]) -> Iterator[tuple[Cluster, Client]]:
    attempt = cluster(spec_of(CASES["sync"], 2), Uneven, gloo=True)
    with connect(attempt.access.url, user=attempt.access.user, password=attempt.access.password) as client:
        yield attempt, client


@pytest.mark.skipif(is_nccl_available(), reason="torch has NCCL here: tests/gpu/test_nccl.py uses it")
def test_a_torch_without_nccl_is_named_with_a_remedy(redis: tuple[Cluster, Client]) -> None:
    (attempt, client), errors = redis, list[BaseException]()

    def join(rank: int) -> None:
        try:
            given = client, attempt.access, attempt.j, rank, range(2), lambda waited: None
            DeviceGroup(*given, torch.device("cuda:0"), end_timeout=0.0)
        except UserError as error:
            errors.append(error)

    threads = [threading.Thread(target=join, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert len(errors) == 2
    for error in errors:
        assert "torch comes without NCCL" in str(error)
        assert "set roles.server.collective: gloo" in str(error)


def test_a_worker_without_a_gpu_cannot_use_nccl(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    roles = {"worker": {"count": 1, "device": "cuda"}, "server": {"count": 0, "collective": "nccl"}}
    attempt = cluster(spec_of(CASES["sync"] | {"roles": roles}, 1), Uneven)
    with pytest.raises(UserError, match=r"set roles.worker.device: cuda, or take gloo"):
        make_port(
            attempt.order("worker", 0), tmp_path, Layout.of(torch.zeros(8), None, 1), lambda waited: None, report_nothing, CPU
        )

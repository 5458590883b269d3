"""Shards whose center lives on a GPU: the numbers are those of the CPU but for rounding, and nothing is read before it is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.center.entries import Payload, Response
from gradstream.local.servers.redis import Redis
from gradstream.process.order import Resume
from gradstream.shard_server.staging import Staging
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.gpu.memory import CudaMemory
from gradstream.wire.gpu.registered import RegisteredMemory
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.shm import Shared
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.conftest import cluster  # noqa: F401  # a fixture
from tests.integration.plane.test_devices import JOBS

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="THIS MACHINE HAS NO CUDA DEVICE: shards on it are not tested"),
]

Make = Callable[..., Cluster]
SIZE = 3_000_017
"""More than a chunk of staging memory for each of two shards."""


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=SIZE)


@pytest.mark.parametrize("local", [(), (0, 1)], ids=["through Redis", "shared memory"])
@pytest.mark.parametrize("name", [name for name in JOBS if "average" not in name])
def test_the_numbers_of_the_cpu(name: str, local: tuple[int, ...], cluster: Make) -> None:  # noqa: F811
    strategy, more = JOBS[name]
    spec = job(strategy, workers=2, shards=2, steps=5, gate="bsp", **more)
    attempt = cluster(spec, bowl, local=local, device=torch.device("cuda:0"))
    found, expected = attempt.run(60), sim.run(spec, bowl, align=4096).center
    assert all(server.shard.center is not None and server.shard.center.theta.is_cuda for server in attempt.servers)
    lossy = "lossy" in name  # a value on the edge between two codes may fall to either side
    torch.testing.assert_close(found, expected, rtol=2e-2 if lossy else 1e-5, atol=1e-2 if lossy else 1e-6)


def test_every_push_is_accounted_for(cluster: Make) -> None:  # noqa: F811
    attempt = cluster(
        job({"name": "async", "lr": 0.01}, workers=3, shards=2, steps=30), bowl, local=(0,), device=torch.device("cuda:0")
    )
    assert attempt.run(60).isfinite().all()
    for server in attempt.servers:
        for account in server.shard.ledger.accounts.values():
            assert account.pushed == account.applied + account.deferred + account.dropped > 0


def test_a_checkpoint_of_it_resumes_on_the_cpu(cluster: Make, tmp_path: Path) -> None:  # noqa: F811
    spec = job({"name": "async", "lr": 0.05}, workers=1, shards=2, steps=20, optimizer={"name": "adam"})
    first = cluster(spec, bowl, folder=tmp_path, device=torch.device("cuda:0"))

    def ask_for_a_checkpoint(rank: int, w: Replica) -> None:
        if w.t == 9:
            plane.control_checkpoint(first.admin, first.j, 1)

    first.before_round = ask_for_a_checkpoint
    went_on = first.run(60)
    for device in (None, torch.device("cuda:0")):
        number = 2 if device is None else 3
        second = cluster(
            spec, bowl, folder=tmp_path, number=number, job=first.job, resume=Resume(attempt=1, checkpoint=1), device=device
        )
        torch.testing.assert_close(second.run(60), went_on, rtol=1e-4, atol=1e-5)


def test_nothing_is_read_before_it_is_there() -> None:
    """While the GPU is busy with something long, vectors go in, are changed there, and come out whole."""
    gpu = torch.device("cuda:0")
    staging = Staging(gpu, chunk=1 << 16)
    busy = torch.rand(4096, 4096, device=gpu)
    for turn in range(20):
        busy = (busy @ busy).softmax(0)
        x = torch.full((SIZE,), float(turn))
        there = staging.take(Payload(x), (0, 0)).x
        x.fill_(-1)  # the worker's memory is its own again
        there.add_(1)
        [response] = staging.give([Response(0, 0, turn + 1, "ok", turn, turn, 1, payload=Payload(there))], lambda response: False)
        assert response.payload is not None
        assert response.payload.x.is_pinned()
        assert torch.equal(response.payload.x, torch.full((SIZE,), turn + 1.0))


def test_shared_memory_is_registered_until_it_goes(tmp_path: Path) -> None:
    layout = Layout.of(torch.zeros(SIZE), None, 2)
    shared = Shared.make(tmp_path, 0, 0, layout)
    shared.register(CudaMemory())
    assert shared.out is not None
    assert all(vector.is_pinned() for vector in (shared.out, *shared.centers))
    there = torch.full((SIZE,), 3.0, device="cuda:0")
    shared.center_slice(0, 1).copy_(there[layout.slices[1]], non_blocking=True)
    torch.cuda.synchronize()
    assert bool((shared.center_slice(0, 1) == 3).all())
    shared.unregister()
    assert not shared.out.is_pinned()


def test_a_vector_leaves_registered_memory_at_once(tmp_path: Path) -> None:
    staging, shared = Staging(torch.device("cuda:0"), chunk=8), Shared.make(tmp_path, 0, 0, Layout.of(torch.zeros(SIZE), None, 1))
    shared.register(CudaMemory())
    assert shared.out is not None
    for turn in range(20):
        shared.out.fill_(float(turn))
        there = staging.take(Payload(shared.out), (0, 0)).x
        shared.out.fill_(-1)
        assert torch.equal(there.cpu(), torch.full((SIZE,), float(turn)))


def test_memory_that_cuda_refuses_can_be_copied_all_the_same(tmp_path: Path) -> None:
    shared = Shared.make(tmp_path, 0, 0, Layout.of(torch.zeros(SIZE), None, 1))
    shared.register(CudaMemory())
    again = RegisteredMemory(shared.centers[0])
    assert not again.succeeded
    assert float((torch.ones(3, device="cuda:0") + 1).sum()) == 6, "the error is forgotten"


def test_a_whole_job_computes_its_center_there(shared_redis: Redis, tmp_path: Path) -> None:
    """The process of the server itself, as an agent starts it."""
    from gradstream.process.zygote.zygote import Zygote
    from tests.gpu.test_laws_on_a_gpu import train

    zygote = Zygote()
    zygote.start()
    roles: dict[str, Any] = {"worker": {"count": 1, "device": "cuda"}, "server": {"count": 1, "device": "cuda"}}
    try:
        strategy = {"name": "adag", "lr": 0.1, "window": 3}
        attempt = train(zygote, shared_redis, tmp_path, strategy, 1, roles=roles, stop={"epochs": 30})
    finally:
        zygote.close()
    assert attempt.result is not None
    assert attempt.result["eval"]["accuracy"] > 0.9

"""A worker and its only shard on one GPU: vectors travel in the GPU's memory, which the shard has made. Here files stand for that
memory, so all but CUDA's own calls runs; `tests/gpu/test_one_gpu.py` has these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire.port import RedisPort
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.device_twin import ClosedMemory, FileMemory

Make = Callable[..., Cluster]
CPU = torch.device("cpu")
MOMENTUM = {"name": "sgd", "momentum": 0.9}
JOBS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "sync": ({"name": "sync", "lr": 0.1}, {"gate": "bsp"}),
    "sync, momentum": ({"name": "sync", "lr": 0.1}, {"gate": "bsp", "optimizer": MOMENTUM}),
    "easgd": ({"name": "easgd", "lr": 0.1, "window": 2}, {"gate": "bsp"}),
    "diloco": ({"name": "diloco", "lr": 0.05, "window": 3}, {"gate": "bsp"}),
    "local_sgd": ({"name": "local_sgd", "lr": 0.05, "window": 3, "inner": "average"}, {"gate": "bsp", "optimizer": MOMENTUM}),
    "geo": ({"name": "geo", "lr": 0.05, "window": 4, "delay": 1}, {"gate": "bsp", "optimizer": MOMENTUM}),
}


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=20_011)


def on_one_device(
    cluster: Make, spec: JobSpec, folder: Path, workers: type[FileMemory] = FileMemory, name: str = "twin"
) -> Cluster:
    shards, of_workers = FileMemory(folder), workers(folder, name)
    return cluster(spec, bowl, local=(0,), device=CPU, memory=shards, workers_memory=of_workers)


def uses_device(attempt: Cluster) -> bool:
    """Whether the newest port of each worker sends from the device's memory."""
    ports = [port for rank, port in attempt.ports.items() if rank >= 0]
    return all(isinstance(port, RedisPort) and port._centers.on_device and port.out is port._vectors.out for port in ports)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", JOBS)
def test_the_bits_of_the_host(name: str, cluster: Make, tmp_path: Path) -> None:
    strategy, more = JOBS[name]
    spec = job(strategy, workers=3, shards=1, steps=8, **more)
    expected = cluster(spec, bowl, local=(0,)).run()
    attempt = on_one_device(cluster, spec, tmp_path)
    assert torch.equal(attempt.run(), expected)
    assert uses_device(attempt)
    assert (attempt.memory.allocated, attempt.workers_memory.opened) == (3, 3)  # type: ignore[union-attr]
    pushes = sum(account.pushed for account in attempt.servers[0].shard.ledger.accounts.values())
    assert attempt.workers_memory.finished >= pushes  # type: ignore[union-attr]


@pytest.mark.parametrize("strategy", [{"name": "adag", "lr": 0.02, "window": 2}, {"name": "dc_asgd", "lr": 0.02}], ids=str)
@pytest.mark.parametrize("more", [{}, {"pipeline": 1}], ids=str)
def test_every_push_is_accounted_for_without_a_gate(
    strategy: dict[str, Any], more: dict[str, Any], cluster: Make, tmp_path: Path
) -> None:
    attempt = on_one_device(cluster, job(strategy, workers=3, shards=1, steps=20, **more), tmp_path)
    assert attempt.run().isfinite().all()
    assert uses_device(attempt)
    for account in attempt.servers[0].shard.ledger.accounts.values():
        assert account.pushed == account.applied + account.deferred + account.dropped > 0


@pytest.mark.parametrize(
    ("workers", "name"), [(ClosedMemory, "twin"), (FileMemory, "another")], ids=["a handle that cannot be opened", "two devices"]
)
def test_without_common_memory_vectors_go_through_the_host(
    workers: type[FileMemory], name: str, cluster: Make, tmp_path: Path
) -> None:
    spec = job({"name": "sync", "lr": 0.1}, workers=2, shards=1, steps=5, gate="bsp")
    expected = cluster(spec, bowl, local=(0,)).run()
    attempt = on_one_device(cluster, spec, tmp_path, workers, name)
    assert torch.equal(attempt.run(), expected)
    assert not uses_device(attempt)
    assert attempt.memory.allocated == (2 if name == "twin" else 0)  # type: ignore[union-attr]


@pytest.mark.parametrize("more", [{"codec": {"name": "int8"}}, {"pull_codec": {"name": "bf16"}}], ids=str)
def test_lossy_vectors_go_through_the_host(more: dict[str, Any], cluster: Make, tmp_path: Path) -> None:
    spec = job({"name": "sync", "lr": 0.1}, workers=2, shards=1, steps=5, gate="bsp", **more)
    expected = cluster(spec, bowl, local=(0,)).run()
    attempt = on_one_device(cluster, spec, tmp_path)
    assert torch.equal(attempt.run(), expected)
    assert attempt.memory.allocated == 0  # type: ignore[union-attr]


def test_a_worker_that_begins_again_gets_vectors_of_its_own(cluster: Make, tmp_path: Path) -> None:
    spec = job({"name": "async", "lr": 0.02}, workers=2, shards=1, steps=12)
    attempt = on_one_device(cluster, spec, tmp_path)

    def lose_worker_1(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 5 and not lost:
            lost.append(w.t)
            attempt.thread(attempt.work, 1, 1)
            raise Gone

    lost: list[int] = []
    attempt.before_round = lose_worker_1
    with pytest.raises(Gone):
        attempt.run()
    assert lost == [5]
    assert attempt.memory.allocated == 3  # type: ignore[union-attr]


class Gone(Exception):
    """A worker's process ends without a word."""

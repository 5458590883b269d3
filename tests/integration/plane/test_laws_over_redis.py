"""The laws that hold in the simulator hold over real Redis, with the same strategies, problems and numbers."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from gradstream import sim
from gradstream.process.order import Resume
from gradstream.sim.toys import Bowl, Toy, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster

SIZE = 20_011  # five blocks of 4,096, the last one with an odd remainder


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=SIZE)


ROUNDS = {"sync": {"lr": 0.1}, "adag": {"lr": 0.1, "window": 3}}
ALL = {**ROUNDS, "async": {"lr": 0.02}, "downpour": {"lr": 0.01, "n_push": 2, "n_fetch": 3}}


@pytest.mark.parametrize("name", ROUNDS)
def test_bsp_gives_the_bits_of_the_simulator(name: str, cluster: Callable[..., Cluster]) -> None:
    spec = job({"name": name, **ROUNDS[name]}, workers=3, shards=2, steps=7, gate="bsp")
    assert torch.equal(cluster(spec, bowl).run(), sim.run(spec, bowl, align=4096).center)


@pytest.mark.parametrize("optimizer", [{"name": "sgd", "momentum": 0.9}, {"name": "adam"}])
@pytest.mark.parametrize("shards", [2, 3, 5])
def test_any_number_of_servers_gives_the_same_bits(
    shards: int, optimizer: dict[str, object], cluster: Callable[..., Cluster]
) -> None:
    def center(count: int) -> torch.Tensor:
        spec = job({"name": "sync", "lr": 0.05}, workers=2, shards=count, steps=6, optimizer=optimizer)
        return cluster(spec, bowl).run()

    assert torch.equal(center(shards), center(1))


@pytest.mark.parametrize("name", ALL)
def test_one_worker_gives_the_bits_of_the_simulator(name: str, cluster: Callable[..., Cluster]) -> None:
    spec = job({"name": name, **ALL[name]}, workers=1, shards=2, steps=9)
    assert torch.equal(cluster(spec, bowl).run(), sim.run(spec, bowl, align=4096).center)


@pytest.mark.parametrize("gate", ["asp", {"ssp": 0}, {"ssp": 2}, {"mode": "asp", "max_staleness": 2}])
@pytest.mark.parametrize("name", ["async", "downpour", "adag"])
def test_every_push_is_accounted_for(name: str, gate: object, cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(job({"name": name, **ALL[name]}, workers=3, shards=2, steps=20, gate=gate), Toy)
    attempt.run()
    for server in attempt.servers:
        for account in server.shard.ledger.accounts.values():
            assert account.pushed == account.applied + account.deferred + account.dropped > 0
            assert account.pending == 0
        center = server.shard.center
        assert center is not None
        assert center.version == sum(a.applied for a in server.shard.ledger.accounts.values())


def test_a_run_resumed_from_a_checkpoint_equals_the_one_that_went_on(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    spec = job({"name": "sync", "lr": 0.05}, workers=3, shards=2, steps=30, optimizer={"name": "sgd", "momentum": 0.9})
    first = cluster(spec, bowl, folder=tmp_path)

    def ask_for_a_checkpoint(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 9:
            plane.control_checkpoint(first.admin, first.j, 1)

    first.before_round = ask_for_a_checkpoint
    went_on = first.run()
    second = cluster(spec, bowl, folder=tmp_path, number=2, job=first.job, resume=Resume(attempt=1, checkpoint=1))
    resumed = second.run()
    versions = [server.shard.center.version for server in second.servers]
    assert versions == [30, 30], "the ledger goes on where the checkpoint was"
    assert torch.equal(resumed, went_on)

"""Shards that compute on a device. Here that is the CPU, so every vector goes the way that it goes to a GPU and back, through
staging memory and over whole vectors, and must come out with the bits of the ordinary way. `tests/gpu` has the GPU itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from gradstream.center.entries import Payload, Response
from gradstream.process.order import Resume
from gradstream.shard_server.staging import Staging
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster

Make = Callable[..., Cluster]
CPU = torch.device("cpu")
SIZE = 20_011


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=SIZE)


MOMENTUM, ADAM = {"name": "sgd", "momentum": 0.9}, {"name": "adam"}
JOBS = {
    "sync": ({"name": "sync", "lr": 0.1}, {}),
    "sync, momentum": ({"name": "sync", "lr": 0.1}, {"optimizer": MOMENTUM}),
    "sync, adam, an average": ({"name": "sync", "lr": 0.01}, {"optimizer": ADAM, "evaluate": {"average": 0.1}}),
    "sync, lossy both ways": ({"name": "sync", "lr": 0.1}, {"codec": {"name": "topk"}, "pull_codec": {"name": "bf16"}}),
    "easgd, lossy responses": ({"name": "easgd", "lr": 0.1, "window": 2}, {"pull_codec": {"name": "bf16"}}),
    "local_sgd": ({"name": "local_sgd", "lr": 0.05, "window": 3, "inner": "average"}, {"optimizer": MOMENTUM}),
}


@pytest.mark.few(6)
@pytest.mark.parametrize("local", [(), (0, 1), (1,)], ids=["through Redis", "shared memory", "both"])
@pytest.mark.parametrize("name", JOBS)
def test_the_bits_of_the_ordinary_way(name: str, local: tuple[int, ...], cluster: Make) -> None:
    strategy, more = JOBS[name]
    spec = job(strategy, workers=3, shards=2, steps=7, gate="bsp", **more)
    expected = cluster(spec, bowl, local=local).run()
    assert torch.equal(cluster(spec, bowl, local=local, device=CPU).run(), expected)


@pytest.mark.parametrize("name", ["async", "adag", "dc_asgd", "dynsgd"])
def test_every_push_is_accounted_for(name: str, cluster: Make) -> None:
    attempt = cluster(job({"name": name, "lr": 0.01}, workers=3, shards=2, steps=20), bowl, local=(0, 1), device=CPU)
    assert attempt.run().isfinite().all()
    for server in attempt.servers:
        for account in server.shard.ledger.accounts.values():
            assert account.pushed == account.applied + account.deferred + account.dropped > 0


@pytest.mark.parametrize("devices", [(CPU, None), (None, CPU), (CPU, CPU)], ids=["from it", "onto it", "on it"])
def test_a_checkpoint_fits_wherever_the_job_resumes(
    devices: tuple[torch.device | None, torch.device | None], cluster: Make, tmp_path: Path
) -> None:
    spec = job({"name": "dc_asgd", "lr": 0.05}, workers=1, shards=2, steps=20, optimizer=MOMENTUM)
    first = cluster(spec, bowl, folder=tmp_path, device=devices[0])

    def ask_for_a_checkpoint(rank: int, w: Replica) -> None:
        if w.t == 9:
            plane.control_checkpoint(first.admin, first.j, 1)

    first.before_round = ask_for_a_checkpoint
    went_on = first.run()
    second = cluster(
        spec, bowl, folder=tmp_path, number=2, job=first.job, resume=Resume(attempt=1, checkpoint=1), device=devices[1]
    )
    assert torch.equal(second.run(), went_on)


# ---- the staging itself -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("registered", [False, True], ids=["chunk by chunk", "at once"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [0, 1, 16, 17, 1000])
def test_vectors_go_in_and_out(size: int, dtype: torch.dtype, registered: bool) -> None:
    staging = Staging(CPU, chunk=64, is_registered=lambda x: registered)
    x = torch.arange(size).to(dtype)
    there = staging.take(Payload(x), (0, 0)).x
    x.zero_()
    assert torch.equal(there, torch.arange(size).to(dtype)), "the host's vector may change at once"
    responses = [Response(rank, 0, 1, "ok", 1, 1, 2, payload=Payload(there)) for rank in range(2)]
    first, second = staging.give([*responses, Response(2, 0, 1, "ok", 1, 1, 2)], lambda response: False)[:2]
    assert first.payload is not None
    assert second.payload is not None
    assert torch.equal(first.payload.x, torch.arange(size).to(dtype))
    assert first.payload.x is second.payload.x, "one copy for all who get it"
    assert staging.give(responses, lambda response: True) == responses, "their vectors are where they belong"


def test_each_incarnation_has_a_vector_of_its_own_that_is_used_again() -> None:
    staging = Staging(CPU)
    one, other = (staging.take(Payload(torch.full((5,), float(rank))), (rank, 0)).x for rank in range(2))
    assert (one[0], other[0]) == (0, 1)
    assert staging.take(Payload(torch.full((5,), 7.0)), (0, 0)).x is one
    staging.drop_incarnation((0, 0))
    assert staging.take(Payload(torch.zeros(5)), (0, 0)).x is not one, "who waits for its round may hold the old one"

"""A job without servers has the bits of the same job with servers, and its checkpoints are those of servers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream import sim
from gradstream.errors import PlaneLost
from gradstream.process.exits import UserError
from gradstream.process.order import Resume
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster
from tests.support import TIMEOUT, eventually

SIZE, WORKERS = 20_011, 3  # five blocks of 4,096, the last one with an odd remainder
ADAM, MOMENTUM = {"name": "adam"}, {"name": "sgd", "momentum": 0.9}
CASES: dict[str, dict[str, Any]] = {
    "sync": {"strategy": {"name": "sync", "lr": 0.05}},
    "sync with adam": {"strategy": {"name": "sync", "lr": 0.01}, "optimizer": ADAM},
    "sync with a cohort": {"strategy": {"name": "sync", "lr": 0.05}, "gate": {"mode": "bsp", "cohort": 0.6}},
    "sync with int8": {"strategy": {"name": "sync", "lr": 0.05}, "codec": {"name": "int8"}, "pull_codec": {"name": "bf16"}},
    "adag": {"strategy": {"name": "adag", "lr": 0.05, "window": 3}, "gate": "bsp"},
    "local_sgd": {"strategy": {"name": "local_sgd", "lr": 0.05, "window": 3}},
    "local_sgd with averaged adam": {
        "strategy": {"name": "local_sgd", "lr": 0.05, "window": 3, "inner": "average"},
        "optimizer": ADAM,
    },
    "diloco": {"strategy": {"name": "diloco", "lr": 0.05, "window": 3}},
    "fedavg": {"strategy": {"name": "fedavg", "lr": 0.05}, "gate": {"mode": "bsp", "cohort": 0.6}},
    "fedprox": {"strategy": {"name": "fedprox", "lr": 0.05}},
    "easgd": {"strategy": {"name": "easgd", "lr": 0.05}, "gate": "bsp"},
    "easgd with bf16": {
        "strategy": {"name": "easgd", "lr": 0.05},
        "gate": "bsp",
        "codec": {"name": "bf16"},
        "pull_codec": {"name": "bf16"},
    },
    "eamsgd": {"strategy": {"name": "eamsgd", "lr": 0.05}, "gate": "bsp"},
    "geo": {"strategy": {"name": "geo", "lr": 0.05}, "gate": "bsp"},
}


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=SIZE)


def spec_of(case: dict[str, Any], steps: int = 13, shards: int = WORKERS) -> JobSpec:
    more = {key: value for key, value in case.items() if key != "strategy"}
    return job(case["strategy"], workers=WORKERS, shards=shards, steps=steps, **more)


def without_servers(cluster: Callable[..., Cluster], spec: JobSpec, **more: Any) -> Cluster:
    return cluster(spec, bowl, serverless=True, local=range(WORKERS), **more)


@pytest.mark.few(5)
@pytest.mark.parametrize("case", CASES)
def test_a_job_without_servers_has_the_bits_of_one_with_servers(case: str, cluster: Callable[..., Cluster]) -> None:
    spec = spec_of(CASES[case])
    expected = sim.run(spec, bowl, align=4096).center
    assert torch.isfinite(expected).all()
    assert torch.equal(without_servers(cluster, spec).run(), expected)
    if spec.effective_gate.cohort == 1:  # else a server may draw the last cohorts before or after a worker's leave
        assert torch.equal(cluster(spec, bowl, local=range(WORKERS)).run(), expected)


class OnDevice(Bowl):
    """Its theta stays where it is, as on a GPU: centers are copied to it, and gradients from it."""

    stays_in_place = True


@pytest.mark.few(3)
@pytest.mark.parametrize("case", CASES)
def test_workers_that_compute_on_devices_have_the_same_bits(case: str, cluster: Callable[..., Cluster]) -> None:
    spec = spec_of(CASES[case])
    attempt = cluster(spec, lambda spec, rank: OnDevice(spec, rank, size=SIZE), serverless=True, local=range(WORKERS))
    assert torch.equal(attempt.run(), sim.run(spec, bowl, align=4096).center)


def run_with_a_checkpoint(attempt: Cluster) -> Tensor:
    def ask_for_a_checkpoint(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 9:
            plane.control_checkpoint(attempt.admin, attempt.j, 1)

    attempt.before_round = ask_for_a_checkpoint
    return attempt.run()


@pytest.mark.more
@pytest.mark.parametrize("optimizer", [ADAM, MOMENTUM], ids=["adam", "momentum"])
def test_a_checkpoint_is_resumed_with_servers_or_without(
    optimizer: dict[str, Any], cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    spec = spec_of({"strategy": {"name": "sync", "lr": 0.02}, "optimizer": optimizer}, steps=300)
    whole = run_with_a_checkpoint(without_servers(cluster, spec, folder=tmp_path / "a"))
    first = without_servers(cluster, spec, folder=tmp_path / "b")
    assert torch.equal(run_with_a_checkpoint(first), whole)
    again = {"folder": tmp_path / "b", "job": first.job, "resume": Resume(attempt=1, checkpoint=1)}
    assert torch.equal(without_servers(cluster, spec, number=2, **again).run(), whole)
    assert torch.equal(cluster(spec, bowl, local=range(WORKERS), number=3, **again).run(), whole)
    second = cluster(spec, bowl, local=range(WORKERS), folder=tmp_path / "c")
    assert torch.equal(run_with_a_checkpoint(second), whole)
    again = {"folder": tmp_path / "c", "job": second.job, "resume": Resume(attempt=1, checkpoint=1)}
    assert torch.equal(without_servers(cluster, spec, number=2, **again).run(), whole)


def test_the_log_takes_entries_from_outside_only(cluster: Callable[..., Cluster]) -> None:
    attempt = without_servers(cluster, spec_of(CASES["sync"]))
    attempt.run()
    assert plane.ledger(attempt.admin, attempt.j).keys() == set(range(WORKERS))
    assert attempt.keys("d") == attempt.keys("c") == [], "no vector has gone through Redis"


def test_workers_stop_when_the_control_plane_asks_them_to(cluster: Callable[..., Cluster]) -> None:
    attempt = without_servers(cluster, spec_of(CASES["sync"], steps=100_000))

    def ask_them_to_stop(rank: int, w: Replica) -> None:
        if rank == 2 and w.t == 5:
            plane.control_stop(attempt.admin, attempt.j, "a test")

    attempt.before_round = ask_them_to_stop
    attempt.run()
    accounts = plane.ledger(attempt.admin, attempt.j)
    assert len({account.pushed for account in accounts.values()}) == 1, "all of them leave at one place"


def test_a_node_without_shared_memory_is_named_with_a_remedy(cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(spec_of(CASES["sync"]), bowl, serverless=True)
    attempt.start()
    for thread in attempt.threads:
        thread.join(TIMEOUT)
    assert {type(error) for error in attempt.errors} == {UserError}
    assert "set roles.server.count: 1" in str(attempt.errors[0])


def test_all_end_when_the_attempt_is_closed_while_they_wait_for_one(cluster: Callable[..., Cluster]) -> None:
    attempt = without_servers(cluster, spec_of(CASES["sync"], steps=100_000))

    def die(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 5:
            plane.destroy(attempt.admin, attempt.j)  # as after the death of this worker, which comes to no turn any more
            raise SystemExit

    attempt.before_round = die
    attempt.start()
    eventually(lambda: not any(thread.is_alive() for thread in attempt.threads), "all workers end")
    ends = [type(error) for error in attempt.errors]
    assert sorted(ends, key=str) == sorted([SystemExit, PlaneLost, PlaneLost], key=str)

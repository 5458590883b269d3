"""Workers that each hold the whole center and combine pushes by gloo have the numbers of a job with servers, but for rounding."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream import sim
from gradstream.errors import PlaneLost
from gradstream.optim.parameters import ParameterShape
from gradstream.process.exits import UserError
from gradstream.process.order import Resume
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.test_serverless import CASES
from tests.support import TIMEOUT, eventually

SIZE = 20_011
ALLOWED = [
    name for name, case in CASES.items() if "codec" not in case and case["strategy"]["name"] not in ("easgd", "eamsgd", "geo")
]


class Uneven(Bowl):
    """Each worker's mini-batches have another size, so the mean of the pushes is weighted. It has parameters of all sizes."""

    parameters = (ParameterShape("a", (100, 120)), ParameterShape("b", (11,)), ParameterShape("c", (8000,)))

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank, size=SIZE)
        self._examples = spec.batch_size + 3 * max(rank, 0)


def spec_of(case: dict[str, Any], workers: int, steps: int = 13, shards: int = 1) -> JobSpec:
    more = {key: value for key, value in case.items() if key != "strategy"}
    return job(case["strategy"], workers=workers, shards=shards, steps=steps, **more)


@pytest.mark.few(6)
@pytest.mark.parametrize("workers", [3, 2, 1])
@pytest.mark.parametrize("case", ALLOWED)
def test_a_job_has_the_numbers_of_one_with_servers(case: str, workers: int, cluster: Callable[..., Cluster]) -> None:
    spec = spec_of(CASES[case], workers)
    expected = sim.run(spec, Uneven, align=4096).center
    attempt = cluster(spec, Uneven, gloo=True)
    found = attempt.run()
    assert torch.isfinite(expected).all()
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    for rank in range(workers):
        assert torch.equal(attempt.ports[rank].shard.center.theta, found), "all workers hold the same bits"


class OnDevice(Uneven):
    """Its theta stays where it is, as on a GPU: centers are copied to it, and gradients from it."""

    stays_in_place = True


@pytest.mark.few(2)
@pytest.mark.parametrize("case", ALLOWED)
def test_workers_that_compute_on_devices_have_the_same_bits(case: str, cluster: Callable[..., Cluster]) -> None:
    spec = spec_of(CASES[case], workers=2)
    assert torch.equal(cluster(spec, OnDevice, gloo=True).run(), cluster(spec, Uneven, gloo=True).run())


class Precise(Uneven):
    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank)
        self.theta, self._curvature, self._slope = self.theta.double(), self._curvature.double(), self._slope.double()


@pytest.mark.parametrize("case", ["sync with adam", "diloco"])
def test_in_float64_nothing_but_the_last_digits_differs(case: str, cluster: Callable[..., Cluster]) -> None:
    spec = spec_of(CASES[case], 3)
    expected = sim.run(spec, Precise, align=4096).center
    assert expected.dtype == torch.float64
    torch.testing.assert_close(cluster(spec, Precise, gloo=True).run(), expected, rtol=1e-12, atol=1e-12)


OPTIMIZERS = {
    "adam": {"name": "adam"},
    "adam with groups": {"name": "adam", "groups": [{"match": "a", "lr_factor": 0.5}]},  # slices begin within parameters
    "lamb": {"name": "lamb"},  # slices begin where parameters do
}
WAYS: dict[str, tuple[int, dict[str, Any]]] = {
    "gloo": (1, {"gloo": True}),
    "shared memory": (3, {"serverless": True, "local": range(3)}),
    "servers": (2, {}),
}
"""Shards of the job, and its cluster."""


def run_with_a_checkpoint(attempt: Cluster) -> Tensor:
    def ask_for_a_checkpoint(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 9:
            plane.control_checkpoint(attempt.admin, attempt.j, 1)

    attempt.before_round = ask_for_a_checkpoint
    return attempt.run()


@pytest.mark.few(1)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("second", WAYS)
@pytest.mark.parametrize("first", WAYS)
def test_a_checkpoint_is_resumed_any_other_way(
    first: str, second: str, optimizer: str, cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    case = {"strategy": {"name": "sync", "lr": 0.02}, "optimizer": OPTIMIZERS[optimizer], "evaluate": {"average": 0.5}}
    (shards, way), (other_shards, other_way) = WAYS[first], WAYS[second]
    begun = cluster(spec_of(case, 3, steps=200, shards=shards), Uneven, folder=tmp_path, **way)
    whole = run_with_a_checkpoint(begun)
    again = {"folder": tmp_path, "job": begun.job, "resume": Resume(attempt=1, checkpoint=1)}
    resumed = cluster(spec_of(case, 3, steps=200, shards=other_shards), Uneven, number=2, **again, **other_way)
    found = resumed.run()
    torch.testing.assert_close(found, whole, rtol=1e-5, atol=1e-6)
    assert first != second or torch.equal(found, whole)


def test_workers_stop_when_the_control_plane_asks_them_to(cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(spec_of(CASES["sync"], 3, steps=100_000), Uneven, gloo=True)

    def ask_them_to_stop(rank: int, w: Replica) -> None:
        if rank == 2 and w.t == 5:
            plane.control_stop(attempt.admin, attempt.j, "a test")

    attempt.before_round = ask_them_to_stop
    attempt.run()
    accounts = plane.ledger(attempt.admin, attempt.j)
    assert len({account.pushed for account in accounts.values()}) == 1, "all of them leave at one place"
    assert attempt.keys("d") == attempt.keys("c") == [], "the evaluator's center is gone, and no other has gone through Redis"


def test_all_end_when_the_attempt_is_closed_while_they_wait_for_one(cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(spec_of(CASES["sync"], 3, steps=100_000), Uneven, gloo=True)

    def die(rank: int, w: Replica) -> None:
        if rank == 1 and w.t == 5:
            plane.destroy(attempt.admin, attempt.j)  # as after the loss of its machine, which closes no connection
            raise SystemExit

    attempt.before_round = die
    attempt.start()
    eventually(lambda: not any(thread.is_alive() for thread in attempt.threads), "all workers end")
    ends = [type(error) for error in attempt.errors]
    assert sorted(ends, key=str) == sorted([SystemExit, PlaneLost, PlaneLost], key=str)


def test_workers_that_cannot_reach_each_other_are_named_with_a_remedy(
    cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = cluster(spec_of(CASES["sync"], 2), Uneven, gloo=True)
    hosts = iter(["one", "another"])
    monkeypatch.setattr("gradstream.serverless.collective.meeting.host_id", lambda: next(hosts))
    attempt.start()
    for thread in attempt.threads:
        thread.join(TIMEOUT)
    assert {type(error) for error in attempt.errors} == {UserError}
    assert "loopback" in str(attempt.errors[0])
    assert "set roles.server.count: 1" in str(attempt.errors[0])


COME = threading.Event()
"""The data that worker 1 waits for is there."""


class Growing(Uneven):
    """Worker 1 waits for its sixth mini-batch, while the pushes of the others are kept for the round."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank)
        self._waits = rank == 1

    def has_data(self, position: int) -> bool:
        return not self._waits or position < 5 or COME.is_set()

    def begins_pass(self, position: int) -> bool:
        return False


def test_a_checkpoint_holds_the_pushes_of_a_round_that_stays_open(cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    spec, files = spec_of(CASES["sync with adam"], 3, steps=20), tmp_path / "store" / "1" / "checkpoints" / "1"
    attempt = cluster(spec, Growing, folder=tmp_path, gloo=True)
    COME.clear()
    attempt.start()
    eventually(lambda: 0 in attempt.ports and attempt.ports[0].shard.gate.pending.keys() == {0, 2}, "worker 1 waits for data")
    plane.control_checkpoint(attempt.admin, attempt.j, 1)
    eventually(lambda: len(list(files.glob("*.safetensors"))) == 4, "the checkpoint of a center and three workers")
    COME.set()
    whole = attempt.finish()
    again = {"folder": tmp_path, "job": attempt.job, "resume": Resume(attempt=1, checkpoint=1)}
    assert torch.equal(cluster(spec, Growing, number=2, gloo=True, **again).run(), whole)
    torch.testing.assert_close(cluster(spec, Growing, number=3, **again).run(), whole, rtol=1e-5, atol=1e-6)

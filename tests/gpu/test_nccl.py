"""Workers without servers whose vectors stay on their GPUs. One GPU tests all but the sums of two, which need two GPUs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.distributed import HashStore, is_nccl_available

from gradstream import sim
from gradstream.local.servers.redis import Redis
from gradstream.process.order import Resume
from gradstream.process.zygote.zygote import Zygote
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.wire import plane
from gradstream.wire.gpu.nccl import NcclGroup
from tests.gpu.test_laws_on_a_gpu import OnTheGpu, begin, train
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.conftest import cluster  # noqa: F401  # a fixture
from tests.support import eventually

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not (torch.cuda.is_available() and is_nccl_available()),
        reason="THIS MACHINE HAS NO CUDA DEVICE, OR ITS TORCH NO NCCL: nothing is added up by NCCL here",
    ),
]
TWO = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="NCCL takes one process on each GPU, and there are fewer than two")

Make = Callable[..., Cluster]
SIZE = 3_000_017


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote()
    zygote.start()
    yield zygote
    zygote.close()


def test_one_process_adds_up_copies_and_disconnects() -> None:
    gpu = torch.device("cuda:0")
    group, x = NcclGroup(HashStore(), 0, 1, gpu), torch.arange(float(SIZE), device=gpu)
    expected, looks = x.clone(), list[float]()
    for work in (group.begin(lambda nccl: nccl.allreduce([x])), group.begin(lambda nccl: nccl.broadcast(x, 0))):
        group.finish(work, looks.append, 10.0)
    assert torch.equal(x, expected)
    assert looks == [], "no wait took as long"
    group.close()


def test_a_wait_ends_while_the_gpu_is_busy() -> None:
    gpu = torch.device("cuda:0")
    group, x, busy = NcclGroup(HashStore(), 0, 1, gpu), torch.ones(8, device=gpu), torch.rand(8192, 8192, device=gpu)

    def give_up(waited: float) -> None:
        raise TimeoutError(f"after {waited} s")

    for _ in range(200):
        busy = (busy @ busy).softmax(0)
    with pytest.raises(TimeoutError):
        group.finish(group.begin(lambda nccl: nccl.allreduce([x])), give_up, 0.01)
    torch.cuda.synchronize()
    group.close()


class OnGpu(Bowl):
    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank, size=SIZE)
        self.theta, self._curvature, self._slope = self.theta.cuda(), self._curvature.cuda(), self._slope.cuda()


def on_the_cpu(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=SIZE)


STRATEGIES: dict[str, dict[str, Any]] = {
    "sync": {"strategy": {"name": "sync", "lr": 0.02}},
    "sync with adam": {"strategy": {"name": "sync", "lr": 0.02}, "optimizer": {"name": "adam"}},
    "local_sgd": {"strategy": {"name": "local_sgd", "lr": 0.02, "window": 3}},
    "diloco": {"strategy": {"name": "diloco", "lr": 0.02, "window": 3}},
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_vectors_of_one_worker_stay_on_its_gpu(name: str, cluster: Make) -> None:  # noqa: F811
    more = dict(STRATEGIES[name])
    spec = job(more.pop("strategy"), workers=1, shards=1, steps=12, **more)
    attempt, homes = cluster(spec, OnGpu, gloo=True, device=torch.device("cuda:0")), list[int]()

    def note(rank: int, w: Replica) -> None:
        port = attempt.ports[rank]
        assert w.theta.is_cuda
        assert port.out is not None
        assert port.out.is_cuda
        homes.extend(center.data_ptr() - w.theta.data_ptr() for center in port.centers)

    attempt.before_round = note
    found, expected = attempt.run(60), sim.run(spec, on_the_cpu, align=4096).center
    assert attempt.ports[0].shard.center.theta.is_cuda
    assert set(homes) <= {0}, "it trains in the center"
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_a_checkpoint_is_resumed_on_the_cpu(cluster: Make, tmp_path: Path) -> None:  # noqa: F811
    spec = job({"name": "sync", "lr": 0.02}, workers=1, shards=1, steps=20, optimizer={"name": "adam"})
    first = cluster(spec, OnGpu, folder=tmp_path, gloo=True, device=torch.device("cuda:0"))

    def ask_for_a_checkpoint(rank: int, w: Replica) -> None:
        if w.t == 9:
            plane.control_checkpoint(first.admin, first.j, 1)

    first.before_round = ask_for_a_checkpoint
    whole = first.run(60)
    again = {"folder": tmp_path, "number": 2, "job": first.job, "resume": Resume(attempt=1, checkpoint=1)}
    torch.testing.assert_close(cluster(spec, on_the_cpu, gloo=True, **again).run(60), whole, rtol=1e-5, atol=1e-5)


def roles(workers: int, collective: str) -> dict[str, Any]:
    return {"worker": {"count": workers, "device": "cuda"}, "server": {"count": 0, "collective": collective}}


def test_a_whole_job_of_one_worker_has_the_numbers_of_gloo(zygote: Zygote, shared_redis: Redis, tmp_path: Path) -> None:
    found = {}
    for collective in ("gloo", "nccl"):
        given = zygote, shared_redis, tmp_path / collective, {"name": "sync", "lr": 0.1}
        attempt = train(*given, 1, roles=roles(1, collective), optimizer={"name": "sgd", "momentum": 0.9})
        found[collective] = load_file(attempt.store / "model.safetensors")
    for name, expected in found["gloo"].items():
        torch.testing.assert_close(found["nccl"][name], expected, rtol=1e-5, atol=1e-6, msg=name)


class OnGpusOfTheirOwn(OnTheGpu):
    """Worker k has GPU k."""

    def order(self, role: Any, rank: int, incarnation: int) -> Any:
        order = super().order(role, rank, incarnation)
        return order.model_copy(update={"gpus": [max(rank, 0)]})


@TWO
@pytest.mark.parametrize("strategy", [{"name": "sync", "lr": 0.1}, {"name": "local_sgd", "lr": 0.1, "window": 3}], ids=str)
def test_two_workers_have_the_numbers_of_gloo(
    strategy: dict[str, Any], zygote: Zygote, shared_redis: Redis, tmp_path: Path
) -> None:
    found = {}
    for collective in ("gloo", "nccl"):
        given = zygote, shared_redis, tmp_path / collective, strategy
        attempt = train(*given, 2, kind=OnGpusOfTheirOwn, roles=roles(2, collective))
        found[collective] = load_file(attempt.store / "model.safetensors")
    for name, expected in found["gloo"].items():
        torch.testing.assert_close(found["nccl"][name], expected, rtol=1e-5, atol=1e-6, msg=name)


@TWO
def test_a_killed_worker_ends_the_attempt(zygote: Zygote, shared_redis: Redis, tmp_path: Path) -> None:
    """The other one waits in a kernel of NCCL, which ends with its process."""
    given = zygote, shared_redis, tmp_path, {"name": "sync", "lr": 0.1}
    attempt = begin(*given, 2, kind=OnGpusOfTheirOwn, roles=roles(2, "nccl"), stop={"epochs": 1_000_000})
    eventually(lambda: [*attempt.pump(0.1)] or attempt.joined or None, "the workers train")
    killed = next(id for id, order in attempt._orders.items() if order.label == "worker-1")
    zygote.signal(killed, signal.SIGKILL)
    eventually(lambda: [*attempt.pump(0.1)] or None, "its end is noticed")
    assert attempt.failed is not None
    assert attempt.failed[0] == "worker-1.0"
    attempt.close()
    assert attempt.over, "the other one is gone, too"

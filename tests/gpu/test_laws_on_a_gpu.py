"""The laws on a GPU: the center travels to the device and gradients back, and the numbers are those of plain PyTorch there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from gradstream.local.servers.redis import Redis
from gradstream.local.training.attempt import LocalAttempt
from gradstream.process.zygote.zygote import Zygote
from gradstream.spec import JobSpec
from gradstream.wire.redis.client import connect

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="THIS MACHINE HAS NO CUDA DEVICE: the GPU path is not tested here"),
]

BODY = """
import torch
from torch import nn
from torch.utils.data import TensorDataset
from gradstream import Workload

class Line(Workload):
    def model(self):
        return nn.Sequential(nn.Linear(20, 50), nn.BatchNorm1d(50), nn.ReLU(), nn.Linear(50, 3))
    def dataset(self, split):
        generator = torch.Generator().manual_seed(5)
        x = torch.randn(256, 20, generator=generator)
        return TensorDataset(x, x[:, :3].argmax(1))
    def loss(self, model, batch):
        assert next(model.parameters()).is_cuda and batch[0].is_cuda
        return nn.functional.cross_entropy(model(batch[0]), batch[1])
"""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote()
    zygote.start()
    yield zygote
    zygote.close()


class OnTheGpu(LocalAttempt):
    """All workers share the first GPU: the laws do not mind."""

    def order(self, role: Any, rank: int, incarnation: int) -> Any:
        order = super().order(role, rank, incarnation)
        on_cpu = role == "server" and self.spec.roles.server.device == "cpu"
        peers = self.spec.roles.worker.group.peers if role == "worker" else 1
        return order.model_copy(update={"gpus": [] if on_cpu else [0] * peers})


def begin(
    zygote: Zygote,
    redis: Redis,
    folder: Path,
    strategy: dict[str, Any],
    workers: int,
    kind: type[LocalAttempt] = OnTheGpu,
    **more: Any,
) -> LocalAttempt:
    code = folder / "user"
    code.mkdir(parents=True)
    (code / "body.py").write_text(BODY)
    spec = JobSpec.model_validate(
        {
            "name": "gpu",
            "workload": {"entrypoint": "body:Line"},
            "strategy": strategy,
            "batch_size": 32,
            "roles": {"worker": {"count": workers, "device": "cuda"}, "server": {"count": 2}},
            "stop": {"epochs": 3},
            **more,
        }
    )
    admin = connect(redis.url, password=redis.password)
    attempt = kind(spec, code, folder, zygote=zygote, redis=admin, plane_url=redis.url, gpus=[0] * 8)
    attempt.start()
    return attempt


def train(zygote: Zygote, redis: Redis, folder: Path, strategy: dict[str, Any], workers: int, **more: Any) -> LocalAttempt:
    """`more`: for `begin`."""
    attempt = begin(zygote, redis, folder, strategy, workers, **more)
    while not attempt.over and not attempt.failed:
        for _ in attempt.pump(0.5):
            pass
    failed = attempt.failed
    attempt.close()
    assert failed is None, f"{failed}\n{attempt.log_of(failed[0]) if failed else ''}"
    return attempt


@pytest.mark.parametrize("strategy", [{"name": "sync", "lr": 0.1}, {"name": "async", "lr": 0.1}])
def test_one_worker_equals_plain_pytorch_on_the_gpu(
    strategy: dict[str, Any], zygote: Zygote, shared_redis: Redis, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    attempt = train(zygote, shared_redis, tmp_path, strategy, workers=1, optimizer={"name": "sgd", "momentum": 0.9})
    trained = load_file(attempt.store / "model.safetensors")

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(20, 50), nn.BatchNorm1d(50), nn.ReLU(), nn.Linear(50, 3)).cuda()
    x = torch.randn(256, 20, generator=torch.Generator().manual_seed(5))
    y = x[:, :3].argmax(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(3):
        order = torch.randperm(256, generator=torch.Generator().manual_seed(1 * 1_000_003 + epoch))
        for chosen in order.split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[chosen].cuda()), y[chosen].cuda()).backward()
            optimizer.step()
    for name, expected in model.state_dict().items():
        torch.testing.assert_close(trained[name], expected.cpu(), rtol=1e-5, atol=1e-6, msg=name)


@pytest.mark.parametrize("strategy", [{"name": "adag", "lr": 0.1, "window": 3}, {"name": "downpour", "lr": 0.05}])
def test_two_workers_learn_on_the_gpu(strategy: dict[str, Any], zygote: Zygote, shared_redis: Redis, tmp_path: Path) -> None:
    attempt = train(zygote, shared_redis, tmp_path, strategy, workers=2, stop={"epochs": 30})
    assert attempt.result is not None
    assert attempt.result["eval"]["accuracy"] > 0.9


WITHOUT_SERVERS = {"count": 0}
ROLES: dict[str, dict[str, Any]] = {
    "no servers": {"worker": {"count": 2, "device": "cuda"}, "server": WITHOUT_SERVERS},
    "no servers, over gloo": {"worker": {"count": 2, "device": "cuda"}, "server": {**WITHOUT_SERVERS, "collective": "gloo"}},
    "a group": {"worker": {"count": 1, "device": "cuda", "group": {"fsdp": 2}}},
    "a group of stages": {"worker": {"count": 1, "device": "cuda", "group": {"stages": 2}}},
    "groups without servers": {"worker": {"count": 2, "device": "cuda", "group": {"tensor": 2}}, "server": WITHOUT_SERVERS},
}


@pytest.mark.parametrize("name", ROLES)
def test_groups_and_workers_without_servers_learn_on_the_gpu(
    name: str, zygote: Zygote, shared_redis: Redis, tmp_path: Path
) -> None:
    strategy, more = {"name": "sync", "lr": 0.1}, {"accumulate": 2, "roles": ROLES[name]}
    attempt = train(zygote, shared_redis, tmp_path, strategy, workers=2, stop={"epochs": 30}, **more)
    assert attempt.result is not None
    assert attempt.result["eval"]["accuracy"] > 0.9

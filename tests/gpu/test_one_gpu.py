"""A worker and its shard on one GPU share vectors by CUDA IPC: processes as an agent starts them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gradstream.local.servers.redis import Redis
from gradstream.process.zygote.zygote import Zygote
from gradstream.wire.gpu.memory import CudaMemory
from gradstream.wire.gpu.vectors import DeviceVectors
from tests.gpu.test_laws_on_a_gpu import train

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="THIS MACHINE HAS NO CUDA DEVICE: memory of a GPU is not shared here"),
]

SIZE = 3_000_017


@pytest.fixture
def zygote() -> Iterator[Zygote]:
    zygote = Zygote()
    zygote.start()
    yield zygote
    zygote.close()


def test_another_process_reads_and_writes_the_vectors(tmp_path: Path) -> None:
    device, file = CudaMemory(), tmp_path / "0.0.device"
    vectors = DeviceVectors.offer(file, SIZE, torch.float32, 1, device)
    vectors.centers[0].copy_(torch.arange(float(SIZE)))
    device.finish_copies()
    code = f"""
import torch
from pathlib import Path
from gradstream.wire.gpu.memory import CudaMemory
from gradstream.wire.gpu.vectors import DeviceVectors
device = CudaMemory()
found = DeviceVectors.find(Path({str(file)!r}), {SIZE}, torch.float32, 1, device)
assert device.name == {device.name!r}
assert torch.equal(found.centers[0].cpu(), torch.arange(float({SIZE})))
found.out.copy_(found.centers[0] * 2)
device.finish_copies()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 0, found.stderr
    assert torch.equal(vectors.out.cpu(), torch.arange(float(SIZE)) * 2)


@pytest.mark.parametrize("strategy", [{"name": "sync", "lr": 0.1}, {"name": "local_sgd", "lr": 0.05, "window": 3}], ids=str)
def test_the_numbers_of_a_shard_on_the_cpu(strategy: dict[str, Any], zygote: Zygote, shared_redis: Redis, tmp_path: Path) -> None:
    found = []
    for device in ("cuda", "cpu"):
        roles = {"worker": {"count": 2, "device": "cuda"}, "server": {"count": 1, "device": device}}
        attempt = train(zygote, shared_redis, tmp_path / device, strategy, 2, roles=roles)
        logs = [attempt.log_of(name) for name in attempt.exits]
        assert len(logs) >= 3
        assert not any("go through the host" in log for log in logs), logs
        found.append(load_file(attempt.store / "model.safetensors"))
    for name, expected in found[1].items():
        torch.testing.assert_close(found[0][name], expected, rtol=1e-4, atol=1e-5, msg=name)


def test_workers_that_do_not_wait_learn_there(zygote: Zygote, shared_redis: Redis, tmp_path: Path) -> None:
    roles = {"worker": {"count": 2, "device": "cuda"}, "server": {"count": 1, "device": "cuda"}}
    strategy = {"name": "adag", "lr": 0.1, "window": 3}
    attempt = train(zygote, shared_redis, tmp_path, strategy, 2, roles=roles, stop={"epochs": 30})
    assert attempt.result is not None
    assert attempt.result["eval"]["accuracy"] > 0.9

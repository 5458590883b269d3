"""Job processes as clients of MPS: their bounds, and an end after their kernels. A stand-in counts the waits, as no GPU is here."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from gradstream.process.order import MpsShare
from gradstream.process.zygote.zygote import Zygote
from tests.integration.local.test_zygote import LIGHT, Bench
from tests.orders import make_order
from tests.support import eventually

MPS = MpsShare(pipes="/run/somewhere", memory=[3 * 2**30, 2**29])
USES_CUDA = """
import os, time, torch
torch.cuda.is_initialized, torch.cuda.device_count = (lambda: True), (lambda: 2)
torch.cuda.synchronize = lambda number: os.write(1, f"GPU {number} is done\\n".encode())
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    zygote = Zygote(preload=LIGHT)
    zygote.start()
    yield Bench(zygote, tmp_path_factory.mktemp("processes"))
    zygote.close()


def test_a_client_knows_the_daemon_and_its_bounds(bench: Bench) -> None:
    code = """
        import json, os
        def main(order, folder):
            print(json.dumps({name: value for name, value in os.environ.items() if name.startswith("CUDA")}))
            return 0
    """
    client = bench.fork(code, make_order(gpus=[1, 0, 1], gpu_share=3, mps=MPS))
    other = bench.fork(code, make_order(gpus=[1], gpu_share=3))
    assert (bench.exit(client), bench.exit(other)) == (0, 0)
    own = json.loads(bench.log(client))
    assert own == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "1,0",
        "CUDA_MPS_PIPE_DIRECTORY": "/run/somewhere",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "33.3",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=3072M,1=512M",
    }
    assert json.loads(bench.log(other)) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1"}


def test_after_sigterm_a_client_waits_for_its_kernels(bench: Bench) -> None:
    code = f"""{USES_CUDA}
def main(order, folder):
    (folder / "ready").touch()
    while True:
        time.sleep(0.05)  # Python looks at a signal that came just before a sleep only after it
"""
    client = bench.fork(code, make_order(gpus=[0, 1], gpu_share=2, mps=MPS))
    other = bench.fork(code, make_order(gpus=[0, 1], gpu_share=2))
    for order in (client, other):
        eventually((bench.place(order.id) / "ready").exists, "the process to compute")
        bench.zygote.signal(order.id, signal.SIGTERM)
    assert (bench.exit(client), bench.exit(other)) == (-signal.SIGTERM, -signal.SIGTERM)
    assert (bench.log(client), bench.log(other)) == ("GPU 0 is done\nGPU 1 is done\n", "")


def test_a_client_that_fails_waits_for_its_kernels(bench: Bench) -> None:
    client = bench.fork(
        USES_CUDA + "def main(order, folder): raise ValueError('no')", make_order(gpus=[0, 1], gpu_share=2, mps=MPS)
    )
    assert bench.exit(client) != 0
    assert bench.log(client).endswith("ValueError: no\nGPU 0 is done\nGPU 1 is done\n")

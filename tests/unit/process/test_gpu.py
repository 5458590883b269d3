"""A process whose order names GPUs, on a machine whose torch cannot use them."""

from __future__ import annotations

import pytest
import torch

from gradstream.process.gpus.use import check_gpus
from gradstream.process.order import Role
from tests.orders import make_order
from worker_node.setup import device_of

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="torch can use the GPUs of this machine")


@pytest.mark.parametrize("role", ["worker", "server", "peers"])
def test_the_device_is_to_blame(role: Role) -> None:
    place = "server" if role == "server" else "worker"
    with pytest.raises(RuntimeError, match=rf"roles\.{place}\.device: torch cannot use GPU 3, 1 of this node"):
        check_gpus(make_order(role, gpus=[3, 1, 3]))


def test_a_worker_fails_before_its_model_is_built() -> None:
    with pytest.raises(RuntimeError, match="repair CUDA there"):
        device_of(make_order(gpus=[0]))
    assert device_of(make_order()) == torch.device("cpu")

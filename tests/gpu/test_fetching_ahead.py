"""Mini-batches that are pinned and copied beside the model are those that it would have fetched itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream import data
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from tests.unit.input.test_data import job

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="THIS MACHINE HAS NO CUDA DEVICE: copies beside it are not tested"),
]


@pytest.mark.parametrize("way", [{}, {"prefetch": 4}, {"processes": 1}], ids=str)
def test_batches_arrive_whole_while_the_gpu_is_busy(way: dict[str, Any]) -> None:
    gpu, x = torch.device("cuda:0"), torch.arange(4096 * 256.0).view(4096, 256)
    spec, plain = job(1, 256, data=way), job(1, 256, data={"prefetch": 0})
    batches, expected = Prefetched(Batches(data.arrays(x), spec, 0), spec), Batches(data.arrays(x), plain, 0)
    weights = torch.rand(2048, 2048, device=gpu)
    for position in range(expected.total):
        busy = weights @ weights  # so that the copies of later batches overlap with something
        batch, examples = batches.take(position, gpu)
        assert batch.is_cuda
        assert examples == 256
        found = batch + 0 * busy[0, 0]
        del batch  # its memory may be taken again by a copy under way
        assert torch.equal(found.cpu(), expected.fetch(position)[0])
    batches.close()

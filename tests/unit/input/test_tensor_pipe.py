"""Values between two processes of a worker."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import pytest
import torch

from gradstream.input import tensor_pipe

CYCLE = """
import gc
import torch
from gradstream.input import tensor_pipe
cycle = [tensor_pipe._Sent.of(torch.ones(3)), tensor_pipe.pack((torch.ones(3), torch.ones(2)))]
cycle.append(cycle)
del cycle
gc.collect()
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool], ids=str)
def test_tensors_arrive_at_their_place_within_a_cache_line(dtype: torch.dtype) -> None:
    here, there = multiprocessing.Pipe()
    sent = {
        "whole": torch.arange(6).to(dtype).reshape(2, 3),
        "part": torch.arange(9).to(dtype)[2:],
        "none": torch.empty(0, 2, dtype=dtype),
    }
    tensor_pipe.send(here, (sent, "and a word"))
    received, word = tensor_pipe.receive(there)
    assert word == "and a word"
    for name, tensor in sent.items():
        assert torch.equal(received[name], tensor), name
        assert received[name].dtype == dtype
        if tensor.numel():
            assert received[name].data_ptr() % 64 == tensor.data_ptr() % 64, name


@pytest.mark.more
def test_a_cycle_with_a_message_is_collected_without_a_crash() -> None:
    """Python 3.11 crashed at a buffer over a memoryview in a cycle, as the frames of an exception make them."""
    done = subprocess.run([sys.executable, "-c", CYCLE], capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert (done.returncode, done.stderr) == (0, "")

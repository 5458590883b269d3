"""A process that shares a GPU keeps to its share of the memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

_QUEUED = """
import torch
from gradstream.process.gpus.use import limit_gpu_memory

before = len(torch.cuda._queued_calls)
limit_gpu_memory({share})
queued = torch.cuda._queued_calls[before:]
assert not torch.cuda.is_initialized()
torch.cuda.set_per_process_memory_fraction = lambda fraction, device: print(fraction, device)
for call, _ in queued:
    call()
"""
"""It runs what torch has queued for the moment when CUDA is initialized; there may be no CUDA here."""


@pytest.mark.parametrize(("share", "said"), [(1, ""), (2, "0.5 0\n"), (4, "0.25 0\n")])
def test_the_limit_is_set_when_cuda_is_initialized_and_not_before(share: int, said: str) -> None:
    done = subprocess.run([sys.executable, "-c", _QUEUED.format(share=share)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (said, 0), done.stderr

"""The share of a GPU's memory that a shard has for vectors beside torch's own."""

from __future__ import annotations

import random

import pytest

from gradstream.wire.gpu.share import DeviceMemoryError, MemoryShare


def test_torch_and_vectors_together_never_have_more_than_the_share() -> None:
    draw, refused = random.Random(1), 0
    for _ in range(200):
        total, k = draw.randint(1_000, 100_000), draw.choice([2, 3, 4, 10])
        memory, of_torch = MemoryShare(total, k), draw.randint(0, total // k)
        for _ in range(10):
            nbytes = draw.randint(1, total // k)
            try:
                memory.require(nbytes, of_torch)
            except DeviceMemoryError:
                refused += 1
                assert memory.taken + of_torch + nbytes > total // k
                continue
            memory.taken += nbytes
            assert memory.taken + of_torch <= total // k
            assert of_torch <= memory.rest * total + 1e-6, "torch keeps all that it holds"
            assert memory.taken + memory.rest * total <= total / k + 1e-6
    assert refused


def test_memory_that_is_given_back_is_free_again() -> None:
    memory = MemoryShare(100, 2)
    memory.require(50, 0)
    memory.taken += 50
    with pytest.raises(DeviceMemoryError, match="0 MB that its share has left"):
        memory.require(1, 0)
    memory.taken -= 50
    assert memory.rest == 0.5
    memory.require(50, 0)


def test_a_whole_gpu_has_no_limit_of_its_own() -> None:
    MemoryShare(100, 1).require(1_000, 100)

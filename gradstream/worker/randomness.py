"""The generators of random numbers that user code may draw from: torch's, numpy's and Python's own, on the CPU."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import torch


def state() -> dict[str, Any]:
    """Where all of them stand: tensors and plain values."""
    name, keys, *rest = numpy.random.get_state(legacy=True)
    return {"torch": torch.get_rng_state(), "python": random.getstate(), "numpy": (name, [int(key) for key in keys], *rest)}


def load(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    name, keys, *rest = state["numpy"]
    numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), *rest))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Random numbers from `seed` inside, and afterwards as if nothing had been drawn."""
    before = state()
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)
    try:
        yield
    finally:
        load(before)

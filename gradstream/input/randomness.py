"""The generators of random numbers that user code may draw from: torch's, numpy's and Python's own, on the CPU."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import torch
from torch import Tensor

Generators = tuple[Tensor, Any, Any]
"""States of torch's, Python's and numpy's, in their own forms: quickly had and quickly set."""


def state() -> dict[str, Any]:
    """Where all of them stand: tensors and plain values."""
    name, keys, *rest = numpy.random.get_state(legacy=True)
    return {"torch": torch.get_rng_state(), "python": random.getstate(), "numpy": (name, [int(key) for key in keys], *rest)}


def load(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    name, keys, *rest = state["numpy"]
    numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), *rest))


def generators() -> Generators:
    return torch.get_rng_state(), random.getstate(), numpy.random.get_state()


def set_generators(generators: Generators) -> None:
    torch.set_rng_state(generators[0])
    random.setstate(generators[1])
    numpy.random.set_state(generators[2])


def seed(value: int) -> None:
    """All of them, and none of a GPU."""
    torch.default_generator.manual_seed(value)
    random.seed(value)
    numpy.random.seed(value)


@contextmanager
def kept() -> Iterator[None]:
    """Afterwards as if nothing had been drawn inside."""
    before = generators()
    try:
        yield
    finally:
        set_generators(before)


@contextmanager
def seeded(value: int, gpus: bool = True) -> Iterator[None]:
    """Random numbers from this seed inside, and afterwards as if nothing had been drawn, but on `gpus`, which stay seeded."""
    before = generators()
    if gpus:
        torch.manual_seed(value)
    seed(value)
    try:
        yield
    finally:
        set_generators(before)

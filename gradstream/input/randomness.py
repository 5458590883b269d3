"""The generators of random numbers that user code may draw from: torch's, numpy's and Python's own, on the CPU. A process of a
group has that of its GPU beside them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy
import torch
from torch import Tensor

Generators = tuple[Sequence[Tensor], Any, Any]
"""States of torch's, Python's and numpy's, in their own forms: quickly had and quickly set."""

_of_torch = [torch.default_generator]
"""Torch's, of the CPU and of the GPU in use."""


def use(device: torch.device, seed: int) -> None:
    """Take the generator of this device from now on, from this seed, if it is a GPU. It becomes the current one."""
    if device.type == "cuda":
        torch.cuda.init()  # type: ignore[no-untyped-call]
        torch.cuda.set_device(device)
        _of_torch[1:] = [torch.cuda.default_generators[torch.cuda.current_device()]]
        _of_torch[1].manual_seed(seed)


def state() -> dict[str, Any]:
    """Where all of them stand: tensors and plain values."""
    name, keys, *rest = numpy.random.get_state(legacy=True)
    return {"torch": torch.get_rng_state(), "python": random.getstate(), "numpy": (name, [int(key) for key in keys], *rest)}


def load(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    name, keys, *rest = state["numpy"]
    numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), *rest))


def of_torch() -> list[Tensor]:
    """Return where torch's generators stand."""
    return [generator.get_state() for generator in _of_torch]


def set_torch(states: Sequence[Tensor]) -> None:
    for generator, state in zip(_of_torch, states, strict=True):
        generator.set_state(state)


def seed_torch(value: int) -> None:
    for generator in _of_torch:
        generator.manual_seed(value)


def generators() -> Generators:
    return of_torch(), random.getstate(), numpy.random.get_state()


def set_generators(generators: Generators) -> None:
    set_torch(generators[0])
    random.setstate(generators[1])
    numpy.random.set_state(generators[2])


def seed(value: int) -> None:
    """All of them, and of GPUs the one in use."""
    seed_torch(value)
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

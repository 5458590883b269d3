"""Looks whether the evaluation split holds rows of the training split. A sample, and for a bounded time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sized
from itertools import chain
from typing import Any, NamedTuple

import numpy
import torch
from torch.utils.data import Dataset, IterableDataset

from gradstream.input import randomness

_ROWS = 2048
"""That are compared from the start of a split; and as many that are spread over it."""
_SECONDS = 0.25
"""CPU time of this thread for reading them from one split; and some times that of the clock."""
_WAITING = 8
_SHARE = 0.05
"""Share of the evaluation rows: with less, a few rows are just equal."""
_FEWEST = 3
_DISTINCT = 0.9
"""Share of the training rows that differ from each other. With less, equal rows are the nature of the data."""


class Overlap(NamedTuple):
    shared: int
    compared: int
    """Evaluation rows."""


def find_overlap(train: Dataset[Any], held_out: Dataset[Any], seconds: float = _SECONDS) -> Overlap | None:
    """None: none that matters, or the splits cannot be read by index. Raises what the data sets raise. Random numbers are drawn
    beside those of the process."""
    if not (_by_index(train) and _by_index(held_out)):
        return None
    with randomness.seeded(0, gpus=False):
        trained, evaluated = _digests(train, seconds), _digests(held_out, seconds)
    known = set(trained)
    if not evaluated or not trained or len(known) < _DISTINCT * len(trained):
        return None
    shared = sum(digest in known for digest in evaluated)
    expected = _SHARE * len(evaluated) * len(trained) / len(train)  # type: ignore[arg-type]  # of a sample of the training rows
    return Overlap(shared, len(evaluated)) if shared >= max(_FEWEST, expected) else None


def _by_index(dataset: Dataset[Any]) -> bool:
    return isinstance(dataset, Sized) and not isinstance(dataset, IterableDataset) and hasattr(dataset, "__getitem__")


def _digests(dataset: Any, seconds: float) -> list[bytes]:
    size, found = len(dataset), list[bytes]()
    busy, until = time.thread_time() + seconds, time.perf_counter() + _WAITING * seconds
    for number in _chosen(size):
        found.append(_digest(dataset[number]))
        if time.thread_time() > busy or time.perf_counter() > until:
            break
    return found


def _chosen(size: int) -> Iterator[int]:
    if size <= 2 * _ROWS:
        return iter(range(size))
    return chain(range(_ROWS), range(_ROWS, size, -(-(size - _ROWS) // _ROWS)))


def _digest(example: Any) -> bytes:
    digest = hashlib.blake2b(digest_size=8)
    for part in _parts(example):
        digest.update(part)
    return digest.digest()


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().to_dense() if value.layout is not torch.strided else value.detach().cpu()
        yield value.contiguous().reshape(-1).view(torch.uint8).numpy().data
    elif isinstance(value, numpy.ndarray) and value.dtype != object:
        yield numpy.ascontiguousarray(value).tobytes()
    elif isinstance(value, dict):
        yield from chain.from_iterable(_parts(one) for one in value.values())
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(_parts, value))
    else:
        yield repr(value).encode("utf-8", "backslashreplace")

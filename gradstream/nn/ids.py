"""Ids of features: any int64, or strings by their hash."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gradstream.center.tables.hashing import fnv1a64
from gradstream.errors import InvalidWorkload
from gradstream.nn import kernels

_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
_SALT = np.uint64(secrets.randbits(64))
"""Makes the order inside a hash table unknown to whoever makes up ids."""


def hashed(strings: Sequence[str] | NDArray[np.str_], field: str) -> torch.Tensor:
    """A 64-bit id for each string, int64 of the same shape. The same text in two fields has two ids."""
    texts = np.asarray(strings, np.str_)
    encoded = [text.encode() for text in texts.ravel().tolist()]
    ends = np.cumsum(np.array([len(text) for text in encoded], np.int64))
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return torch.from_numpy(kernels.hash_texts(data, ends, np.uint64(fnv1a64(field + "\0"))).reshape(texts.shape))


@dataclass(frozen=True, slots=True)
class DistinctIds:
    """The ids of one forward."""

    keys: NDArray[np.int64]
    """Distinct ones, in order of first occurrence, without the padding."""
    numbers: NDArray[np.int64]
    """The number among `keys` of each id, in order; -1: it is the padding."""


def checked_ids(table: str, ids: torch.Tensor) -> torch.Tensor:
    """The ids as int64. Raises: InvalidWorkload: they are not whole numbers."""
    if not isinstance(ids, torch.Tensor):
        raise InvalidWorkload(
            f"table '{table}': ids must be a tensor, not {type(ids).__name__}; lists of ids go into an EmbeddingBag"
        )
    if ids.dtype not in _WHOLE:
        reason = "; a float32 is not exact above 2^24" if ids.is_floating_point() else ""
        kind = str(ids.dtype).removeprefix("torch.")
        raise InvalidWorkload(f"table '{table}': ids must be int64, but these are {kind}{reason}; convert them where they are read")
    return ids.detach().long()


def distinct_ids(ids: torch.Tensor, padding: int | None) -> DistinctIds:
    """`ids`: int64, of any shape and device."""
    flat = np.ascontiguousarray(ids.cpu().numpy().ravel())
    keys, numbers = kernels.distinct(flat, _SALT)
    if padding is not None and len(found := np.flatnonzero(keys == padding)):
        number = int(found[0])
        keys = np.delete(keys, number)
        numbers = np.where(numbers == number, -1, numbers - (numbers > number))
    return DistinctIds(keys, numbers)


def as_array(tensor: torch.Tensor) -> NDArray[Any]:
    """The tensor on the CPU as a contiguous array, for kernels."""
    return np.ascontiguousarray(tensor.detach().cpu().numpy())

"""Hashes of keys: the bucket and the shard of a key, and random numbers that only the key decides.

mix is splitmix64 with its increment. Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.compiling import kernel
from gradstream.spec.tables import split_member

BUCKETS = 1024
"""A key has the same bucket whatever the number of shards. Decisions that couple rows stay inside a bucket."""
ADMISSION_DRAW = np.uint64(2**32)
"""Number of the draw that decides an admission. Those below are the first values of the columns."""
_INCREMENT, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31, _S40, _S54 = (np.uint64(shift) for shift in (11, 27, 30, 31, 40, 54))
_MOST_TOSSES = 2.0**62
"""More than any key has occurrences."""
_FNV_OFFSET, _FNV_PRIME, _64_BITS = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1


@kernel
def mix(x: Any) -> Any:
    """The hash of a uint64."""
    x = x + _INCREMENT
    x = (x ^ (x >> _S30)) * _FIRST
    x = (x ^ (x >> _S27)) * _SECOND
    return x ^ (x >> _S31)


def fnv1a64(text: str) -> int:
    """The FNV-1a hash of the text's UTF-8."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _FNV_PRIME & _64_BITS
    return value


def stream_of(seed: int, table: str) -> np.uint64:
    """The number that all draws of a table begin with. Member i of an ensemble draws as a model alone would, with the seed + i."""
    member, name = split_member(table)
    return np.uint64(mix(np.uint64((seed + member & _64_BITS) ^ fnv1a64(name))))


@kernel
def draw(stream: Any, key: Any, number: Any) -> Any:
    """Draw `number` of a key: 64 random bits. `stream`: of `stream_of`."""
    return mix(mix(np.uint64(key) ^ stream) + np.uint64(number))


@kernel
def first_value(stream: Any, key: Any, column: Any, reach: Any) -> Any:
    """The weight of a row before its first update, uniform in [-reach, reach); float32."""
    u = np.float32(draw(stream, key, column) >> _S40) * np.float32(2**-24)
    return (u + u - np.float32(1)) * reach


@kernel
def fill_first_values(stream: Any, keys: Any, reach: Any, values: Any) -> None:
    """Fill `values`, shape (keys, width). `reach`: float32."""
    for i in range(len(keys)):
        for column in range(values.shape[1]):
            values[i, column] = first_value(stream, keys[i], column, reach)


@kernel
def occurrences_needed(stream: Any, key: Any, probability: Any) -> Any:
    """The number of the occurrence at which a toss with `probability` first succeeds."""
    u = np.float64(draw(stream, key, ADMISSION_DRAW) >> _S11) * 2.0**-53
    return 1 + np.int64(min(_MOST_TOSSES, math.log1p(-u) / math.log1p(-probability)))


@kernel
def buckets_of(keys: Any) -> Any:
    """The bucket of each key."""
    buckets = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        buckets[i] = np.int64(mix(np.uint64(keys[i])) >> _S54)
    return buckets


def bucket_order(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order of the keys by bucket; keys of one bucket stay in their order."""
    return np.argsort(buckets_of(keys).astype(np.uint16), kind="stable")  # numpy sorts 16 bits ten times as fast as 64


def shards_of(keys: NDArray[np.int64], shards: int) -> NDArray[np.int64]:
    """The shard of each key, of so many."""
    return np.asarray(buckets_of(keys) * shards // BUCKETS)


def buckets_of_shard(shard: int, shards: int) -> range:
    """The buckets that a shard holds, of so many shards."""
    return range(-(-BUCKETS * shard // shards), -(-BUCKETS * (shard + 1) // shards))

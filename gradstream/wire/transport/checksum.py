"""The end-to-end checksum of vectors: a third of the time of zlib's CRC-32, and finds the same damage.

A part's sum is the sum of its 64-bit words, each times an odd number of its place, modulo 2^64: one changed word is always
found; several, or words that changed places, are missed once in about 2^63 times. A vector's checksum is the CRC-32 of the
sums of its parts.

Source: Carter and Wegman 1979, "Universal Classes of Hash Functions"; here with fixed numbers, since it is there for
accidents and not for attackers.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

PART = 512 * 1024
"""Bytes of a vector that are summed, and travel, together: see `benchmarks/inline.py`."""


def _places(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Odd numbers that look like chance, the same on every machine (splitmix64)."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)


_PLACES = _places(PART // 8)


def of_part(data: memoryview) -> int:
    """The sum of at most PART bytes."""
    whole = len(data) // 8
    words = np.frombuffer(data, dtype="<u8", count=whole)
    total = int(np.einsum("i,i", words, _PLACES[:whole]))
    if rest := bytes(data[8 * whole :]):
        total += int.from_bytes(rest, "little") * int(_PLACES[whole])
    return total % 2**64


def of_parts(sums: Sequence[int]) -> int:
    """The checksum of a vector with parts of these sums, 32 bits."""
    return zlib.crc32(b"".join(part.to_bytes(8, "little") for part in sums))


def of_vector(data: memoryview) -> int:
    """The checksum of all bytes of a vector, 32 bits."""
    return of_parts([of_part(data[start : start + PART]) for start in range(0, len(data), PART)])

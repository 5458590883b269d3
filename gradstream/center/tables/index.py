"""The index of a table: the place of each key, by bucket.

A bucket is a region of slots with open addressing and linear probing. A full bucket moves to a region twice as large, alone.
Buckets fill evenly, so their limits are spread: else all would move at the same time.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.compiling import AHEAD, kernel, prefetch
from gradstream.center.tables.hashing import BUCKETS, mix
from gradstream.center.tables.memory import ReservedArray
from gradstream.errors import Unavailable

SLOT = np.dtype([("key", np.int64), ("place", np.int32)])
"""A place is that of a row, or of a candidate, as `rows` codes it."""
EMPTY, GONE = 0, -(2**31)
"""Places of a slot without a key, and of one whose key was evicted; those leave when their bucket moves."""
SMALLEST = 16
FULL_FROM, FULL_SPREAD = 0.55, 0.30
_SLOTS_PER_KEY = 8
"""When buckets have just moved, their regions have some 3 slots for each key. Those that they left are as large together."""
_SHIFT = np.uint64(54)
_GOLDEN_RATIO = 0.6180339887498949


class IndexArrays(NamedTuple):
    """The index as kernels see it; of each bucket the start and size of its region, its slots in use, and how many may be."""

    first: int
    """Number of the first bucket."""
    salt: np.uint64
    """Makes the order inside a region unknown to whoever makes up keys."""
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    used: NDArray[np.int64]
    limits: NDArray[np.int64]
    slots: NDArray[Any]


@kernel
def find(index: Any, key: Any) -> Any:
    """Return the key's bucket and slot; if the key is absent, an empty slot."""
    bucket, at = _bucket_and_offset(index, key)
    start, mask = index.starts[bucket], index.sizes[bucket] - 1
    while index.slots[start + at].place != EMPTY and index.slots[start + at].key != key:
        at = (at + 1) & mask
    return bucket, start + at


@kernel
def _bucket_and_offset(index: Any, key: Any) -> Any:
    """Return the key's bucket, and where the search inside its region begins."""
    hashed = mix(np.uint64(key))
    bucket = np.int64(hashed >> _SHIFT) - index.first
    return bucket, np.int64(mix(hashed ^ index.salt)) & (index.sizes[bucket] - 1)


@kernel
def find_places(index: Any, keys: Any, loans: Any) -> None:
    """Fill the places of `loans`; below 0: the key has no row."""
    for i in range(len(keys)):
        if i + AHEAD < len(keys):
            bucket, at = _bucket_and_offset(index, keys[i + AHEAD])
            prefetch(index.slots, index.starts[bucket] + at)
        _, slot = find(index, keys[i])
        loans[i].place = np.int64(index.slots[slot].place) - 1


@kernel
def _move(index: Any, bucket: Any, start: Any, size: Any) -> Any:
    """Copy the keys of a bucket that are not gone into an empty region, which becomes its own."""
    old, count = index.starts[bucket], index.sizes[bucket]
    index.starts[bucket], index.sizes[bucket], index.used[bucket] = start, size, 0
    for i in range(old, old + count):
        if index.slots[i].place != EMPTY and index.slots[i].place != GONE:
            _, slot = find(index, index.slots[i].key)
            index.slots[slot].key, index.slots[slot].place = index.slots[i].key, index.slots[i].place
            index.used[bucket] += 1


class BucketIndex:
    def __init__(self, what: str, buckets: range, capacity: int) -> None:
        """`buckets`: those that are held here. `capacity`: rows there may be, and as many candidates."""
        count, self._what = len(buckets), what
        places = 2 * _SLOTS_PER_KEY * capacity + 2 * SMALLEST * BUCKETS
        self._reserved = ReservedArray(what, SLOT, (places,))
        self._end = count * SMALLEST
        self._gone = np.zeros(count, np.int64)
        """Slots of keys that were gone at the last call of `tidy`, by bucket; some may have come back."""
        self._freed = defaultdict[int, list[int]](list)
        """Starts of the regions that no bucket has, by their size."""
        self._full_at = FULL_FROM + FULL_SPREAD * (np.arange(buckets.start, buckets.stop) * _GOLDEN_RATIO % 1)
        self.arrays = IndexArrays(
            buckets.start,
            np.uint64(secrets.randbits(64)),
            np.arange(count, dtype=np.int64) * SMALLEST,
            np.full(count, SMALLEST, np.int64),
            np.zeros(count, np.int64),
            (self._full_at * SMALLEST).astype(np.int64),
            self._reserved.values,
        )

    def grow(self, bucket: int) -> None:
        """Make place for more keys in a bucket (counted from the first that is held). Raises: Unavailable."""
        size, many = int(self.arrays.sizes[bucket]), self._gone[bucket] > self.arrays.used[bucket] / 4
        self._resize(bucket, size if many else 2 * size)

    def tidy(self, bucket: int, gone: int) -> None:
        """`gone`: slots of keys that are gone. Halve the bucket's region while a quarter would do; remove those slots when they are
        many."""
        size, used = int(self.arrays.sizes[bucket]), int(self.arrays.used[bucket])
        smaller, self._gone[bucket] = size, gone
        while smaller > SMALLEST and used - gone < self._full_at[bucket] * smaller / 4:
            smaller //= 2
        if smaller < size or gone > used / 4:
            self._resize(bucket, smaller)

    @property
    def nbytes(self) -> int:
        """Bytes of all regions in use."""
        return int(self.arrays.sizes.sum()) * SLOT.itemsize

    def _resize(self, bucket: int, size: int) -> None:
        old = int(self.arrays.starts[bucket]), int(self.arrays.sizes[bucket])
        if not self._freed[size]:
            if self._end + size > len(self.arrays.slots):  # kernels would write behind it
                raise Unavailable(f"{self._what} is full, as many keys share a bucket; give the table a larger `capacity`")
            self._freed[size].append(self._end)
            self._end += size
        _move(self.arrays, bucket, self._freed[size].pop(), size)
        self._gone[bucket] = 0
        self.arrays.limits[bucket] = int(self._full_at[bucket] * size)
        self._reserved.release(*old)
        self._freed[old[1]].append(old[0])

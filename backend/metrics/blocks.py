"""Blocks of a series as bytes, and what a summary of points says. No database here.

Full blocks never change. Columns stand one after the other; counters are stored as differences, and the bytes of all numbers
by their place, so that equal ones lie side by side for zstd."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from backend.metrics.points import AXES, POINT, Array

POINTS = 256
"""Points in a block of level 0."""
CHILDREN = 64
"""Summaries in a block of a higher level, each of a whole block of the level below."""

SUMMARY = np.dtype(
    [("count", "<i8"), ("odd", "<i8"), ("sum", "<f8"), ("first", "<f8"), ("last", "<f8"), ("low", "<f8"), ("high", "<f8")]
    + [(f"{axis}_{what}", POINT[axis]) for axis in AXES for what in ("first", "min", "max")]
)
"""Of points that follow each other. `odd`: values that are not finite, which are in `first` and `last` but neither in `sum` nor
in `low` and `high`; those are NaN where no value is finite. `<axis>_first` is where the first point lies."""

_ADDED = ("count", "odd", "sum")
_FIRST = ("first", *(f"{axis}_first" for axis in AXES))
_LEAST, _MOST = tuple(f"{axis}_min" for axis in AXES), tuple(f"{axis}_max" for axis in AXES)
_ZSTD = pa.Codec("zstd", compression_level=3)
_HEAD = 4
_COUNTERS = 3


def of_points(points: Array) -> Array:
    """A summary of each point."""
    found = np.empty(len(points), SUMMARY)
    value = points["value"]
    finite = np.isfinite(value)
    found["count"], found["odd"], found["sum"] = 1, ~finite, np.where(finite, value, 0.0)
    found["first"] = found["last"] = value
    found["low"] = found["high"] = np.where(finite, value, np.nan)
    for axis in AXES:
        for what in ("first", "min", "max"):
            found[f"{axis}_{what}"] = points[axis]
    return found


def merged(summaries: Array, starts: Array) -> Array:
    """One summary of each run of summaries; run i begins at `starts[i]` and ends where the next begins."""
    found = np.empty(len(starts), SUMMARY)
    if not len(starts):
        return found
    with np.errstate(over="ignore", invalid="ignore"):
        for name in _ADDED:
            found[name] = np.add.reduceat(summaries[name], starts)
    for name in _FIRST:
        found[name] = summaries[name][starts]
    found["last"] = summaries["last"][np.append(starts[1:], len(summaries)) - 1]
    found["low"], found["high"] = np.fmin.reduceat(summaries["low"], starts), np.fmax.reduceat(summaries["high"], starts)
    for name in _LEAST:
        found[name] = np.minimum.reduceat(summaries[name], starts)
    for name in _MOST:
        found[name] = np.maximum.reduceat(summaries[name], starts)
    return found


def pack(rows: Array) -> bytes:
    """Points or summaries, in their order."""
    columns = np.stack([np.ascontiguousarray(rows[name]).view(np.int64) for name in rows.dtype.names or ()])
    if rows.dtype == POINT:
        columns[:_COUNTERS, 1:] = np.diff(columns[:_COUNTERS], axis=1)
    by_place = columns.reshape(-1).view(np.uint8).reshape(-1, 8).T
    return len(rows).to_bytes(_HEAD, "little") + bytes(_ZSTD.compress(by_place.tobytes(), asbytes=True))


def unpack(packed: Sequence[bytes], kind: np.dtype) -> tuple[Array, Array]:
    """The rows of all blocks, one block after the other, and how many each has. `kind`: POINT or SUMMARY."""
    sizes = np.array([int.from_bytes(block[:_HEAD], "little") for block in packed], np.int64)
    rows = np.empty(int(sizes.sum()), kind)
    starts = np.cumsum(sizes) - sizes
    alike: dict[int, list[int]] = defaultdict(list)
    for place, size in enumerate(sizes.tolist()):
        alike[size].append(place)
    for size, places in alike.items():
        columns = _columns([packed[place] for place in places], size, kind)
        at = (starts[places][:, None] + np.arange(size)).reshape(-1)
        for number, name in enumerate(kind.names or ()):
            rows[name][at] = columns[:, number].reshape(-1).view(kind[name])
    return rows, sizes


def _columns(packed: Sequence[bytes], size: int, kind: np.dtype) -> Array:
    """(block, column, row), for blocks of one size."""
    width = len(kind.names or ())
    nbytes = size * width * 8
    raw = b"".join(_ZSTD.decompress(block[_HEAD:], nbytes, asbytes=True) for block in packed)
    by_place = np.frombuffer(raw, np.uint8).reshape(len(packed), 8, size * width)
    columns: Array = np.ascontiguousarray(by_place.transpose(0, 2, 1)).view(np.int64).reshape(len(packed), width, size)
    if kind == POINT:
        np.cumsum(columns[:, :_COUNTERS], axis=2, out=columns[:, :_COUNTERS])
    return columns

"""Blocks of a series as bytes, and what a summary of points says. No database here.

Full blocks never change. Columns stand one after the other; counters are stored as differences, and the bytes of all numbers
by their place, so that equal ones lie side by side for zstd."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from backend.metrics.store.points import AXES, POINT, Array

POINTS = 256
"""Points in a block of level 0."""
CHILDREN = 64
"""Summaries in a block of a higher level, each of a whole block of the level below."""

SUMMARY = np.dtype(
    [("count", "<i8"), ("odd", "<i8"), ("sum", "<f8"), ("first", "<f8"), ("last", "<f8"), ("low", "<f8"), ("high", "<f8")]
    + [(f"{axis}_{what}", POINT[axis]) for axis in AXES for what in ("first", "min", "max")]
)
"""The summary of points that follow each other. `odd`: values that are not finite. They are in `first` and `last` but neither in
`sum` nor in `low` and `high`; those are NaN where no value is finite. `<axis>_first` is where the first point lies."""

_ADDED = ("count", "odd", "sum")
_FIRST = ("first", *(f"{axis}_first" for axis in AXES))
_MINIMA, _MAXIMA = tuple(f"{axis}_min" for axis in AXES), tuple(f"{axis}_max" for axis in AXES)
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
    for name in _MINIMA:
        found[name] = np.minimum.reduceat(summaries[name], starts)
    for name in _MAXIMA:
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
    columns, sizes = read(packed, kind, kind.names or ())
    rows = np.empty(int(sizes.sum()), kind)
    for name, column in columns.items():
        rows[name] = column
    return rows, sizes


def read(packed: Sequence[bytes], kind: np.dtype, names: Sequence[str]) -> tuple[dict[str, Array], Array]:
    """As `unpack`, but only these columns, each by itself."""
    sizes = np.array([int.from_bytes(block[:_HEAD], "little") for block in packed], np.int64)
    starts = np.cumsum(sizes) - sizes
    found = {name: np.empty(int(sizes.sum()), kind[name]) for name in names}
    alike: dict[int, list[int]] = defaultdict(list)
    for place, size in enumerate(sizes.tolist()):
        alike[size].append(place)
    for size, places in alike.items():
        planes = _planes([packed[place] for place in places], size, len(kind.names or ()))
        at = slice(None) if len(alike) == 1 else (starts[places][:, None] + np.arange(size)).reshape(-1)
        for name, column in found.items():
            column[at] = _column(planes, kind, name)
    return found, sizes


def _planes(packed: Sequence[bytes], size: int, width: int) -> Array:
    """(block, place of a byte, column, row), for blocks of one size. In one call: zstd reads frames that follow each other as
    one, and to begin takes it longer than to read a frame of ours."""
    frames = b"".join([block[_HEAD:] for block in packed])
    raw = _ZSTD.decompress(frames, len(packed) * 8 * width * size)
    return np.frombuffer(raw, np.uint8).reshape(len(packed), 8, width, size)


def _column(planes: Array, kind: np.dtype, name: str) -> Array:
    number = (kind.names or ()).index(name)
    column = np.ascontiguousarray(planes[:, :, number].transpose(0, 2, 1)).view(np.int64)[:, :, 0]
    if kind == POINT and number < _COUNTERS:
        column = np.cumsum(column, axis=1)
    found: Array = column.reshape(-1).view(kind[name])
    return found

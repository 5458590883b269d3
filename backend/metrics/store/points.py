"""Points as columns of numbers, from the form in which they travel. No database here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.db import storable
from gradstream.metrics import Point

Array = NDArray[Any]

POINT = np.dtype([("step", "<i8"), ("samples", "<i8"), ("version", "<i8"), ("time", "<f8"), ("value", "<f8")])
"""One measured value and where it lies on each axis."""
AXES = ("step", "samples", "version", "time")
_PLACE = 5
"""Values of a record before its names; see `gradstream.wire.telemetry.records`."""
_RANKS = 2**31


class Group(NamedTuple):
    """The points of a batch that belong to one series, in their order."""

    name: str
    rank: int
    points: Array


class Decoded(NamedTuple):
    """A batch: point i is about `keys[series[i]]`."""

    keys: list[tuple[str, int]]
    """(name, rank) of each series, in the order in which the batch begins them."""
    series: Array
    points: Array

    def groups(self) -> list[Group]:
        order = np.argsort(self.series, kind="stable")
        ends = np.cumsum(np.bincount(self.series, minlength=len(self.keys)))[:-1]
        parts = np.split(self.points[order], ends) if self.keys else []
        return [Group(name, rank, part) for (name, rank), part in zip(self.keys, parts, strict=True)]

    def plain(self) -> list[Point]:
        """In the order in which they came."""
        keys = [self.keys[series] for series in self.series.tolist()]
        columns = [self.points[name].tolist() for name in POINT.names or ()]
        return [Point(*key, *rest) for key, *rest in zip(keys, *columns, strict=True)]

    def counts(self) -> list[int]:
        """Points of each series."""
        return [int(count) for count in np.bincount(self.series, minlength=len(self.keys))]


def decode(packed: bytes) -> Decoded:
    """Raises: ValueError, TypeError, OverflowError: no batch, or numbers that a series cannot hold."""
    records = json.loads(packed)
    names: list[Any] = []
    values: list[Any] = []
    for record in records:
        names += record[_PLACE::2]
        values += record[_PLACE + 1 :: 2]
    if len(names) != len(values):
        raise ValueError("a name without a value")
    sizes = np.array([(len(record) - _PLACE) // 2 for record in records], np.int64)
    points = np.empty(len(names), POINT)
    points["value"] = _column(values, np.float64)
    points["time"] = np.repeat(_column([record[0] for record in records], np.float64), sizes)
    places = np.repeat(np.array([record[1:_PLACE] for record in records], np.int64).reshape(-1, _PLACE - 1), sizes, axis=0)
    for at, axis in enumerate(("step", "samples", "version"), start=1):
        points[axis] = places[:, at]
    ranks = places[:, 0]
    if len(points) and (not np.isfinite(points["time"]).all() or ranks.min() < -_RANKS or ranks.max() >= _RANKS):
        raise ValueError("a time that is none, or a rank that is none")
    return _keyed(names, ranks, points)


def _column(values: list[Any], kind: type) -> Array:
    column: Array = np.array(values, kind)
    if column.ndim != 1:
        raise ValueError("a list where a number should be")
    return column


def _keyed(names: list[Any], ranks: Array, points: Array) -> Decoded:
    known: dict[str, int] = {}
    numbers = np.array([known.setdefault(name, len(known)) for name in names], np.int64)
    _, first, series = np.unique(numbers * (2 * _RANKS) + ranks, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    keys = [(storable(str(names[at])), int(ranks[at])) for at in first[order]]
    return Decoded(keys, place[series], points)


def joined(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts) if parts else np.empty(0, POINT)

"""Metrics as they travel: what was measured at one moment at one place is one record, a list

    [time, rank, step, samples, version, name, value, name, value, ...]

and a batch is a JSON list of them. NaN and infinities are text, since JSON has none."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from gradstream.metrics import Point

Record = tuple[Any, ...]

_PLACE = 5
"""Values of a record before its names."""
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def pack(records: list[Record]) -> bytes:
    try:
        return _encode(records).encode()
    except ValueError:
        return _encode([[_writable(value) for value in record] for record in records]).encode()


def pack_points(points: Iterable[Point]) -> bytes:
    """Each as a record of its own."""
    return pack([(p.time, p.rank, p.step, p.samples, p.version, p.name, p.value) for p in points])


def unpack(packed: bytes) -> list[Point]:
    """Raises: ValueError, TypeError: no batch."""
    return [point for record in json.loads(packed) for point in _points(record)]


def _points(record: list[Any]) -> list[Point]:
    when, rank, step, samples, version = record[:_PLACE]
    place = int(rank), int(step), int(samples), int(version), float(when)
    pairs = zip(record[_PLACE::2], record[_PLACE + 1 :: 2], strict=True)
    return [Point(str(name), *place, float(value)) for name, value in pairs]


def _writable(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value

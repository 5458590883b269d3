"""Admission of metric batches. User code shares its process's account on the data plane, so a batch may hold anything.
Points that Postgres cannot hold, or that would take other jobs' space, are left out; a sentence names the field. No database."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np

from backend.db import storable
from backend.metrics.origins import MAX_SERIES, MAX_SERIES_PER_SOURCE, SeriesCapacity, SeriesKey
from backend.metrics.store.points import Decoded, decode
from gradstream.process.order import label_of
from gradstream.wire.telemetry import records

LARGEST = 8 * 2**20
"""Bytes of a batch; a reporter sends some hundred kB at once."""
LONGEST = 200
"""Characters of a name or source: they stand in indexes, whose entries are short."""
_TOO_MANY = (
    f"there are more than {MAX_SERIES:,} series (names and ranks) of the job's own, or {MAX_SERIES_PER_SOURCE:,} of one process; "
    "measure less, or under fewer names"
)
_BITS = 2**63
_END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_COUNTERS = ("rank", "step", "samples", "version")
_PLACE = 1 + len(_COUNTERS)
_NOTHING = b"[]"
_UNKNOWN = ("unreadable", 0)
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class PointFault:
    """The reason why something is left out."""

    field: str
    sentence: str
    """The mistake and its remedy."""


@dataclass(frozen=True, slots=True)
class Came:
    """A batch as it is stored; one that is refused has no points."""

    source: str
    number: int
    packed: bytes
    decoded: Decoded
    fault: PointFault | None = None

    @classmethod
    def read(cls, source: str, number: int, packed: bytes) -> Self:
        source = storable(source)
        if len(source) > LONGEST:
            return cls.refused(*_UNKNOWN, PointFault("source", f"{_many(source)}; leave it as the platform has given it"))
        if not -_BITS <= number < _BITS:
            return cls.refused(*_UNKNOWN, PointFault("batch", f"{_short(number)} does not fit into 64 bits; count batches from 0"))
        if len(packed) > LARGEST:
            return cls.refused(source, number, too_large(len(packed)))
        try:
            decoded = decode(packed)
        except (ValueError, TypeError, OverflowError, KeyError, IndexError, RecursionError):
            return cls.refused(source, number, _wrong(packed))
        time = decoded.points["time"]
        if len(time) and (time.min() < 0 or time.max() >= _END_OF_TIME):
            return cls.refused(source, number, _wrong(packed))
        return cls(source, number, packed, decoded)

    @classmethod
    def refused(cls, source: str, number: int, fault: PointFault) -> Self:
        return cls(source, number, _NOTHING, decode(_NOTHING), fault)

    def within(self, known: Collection[SeriesKey], capacity: SeriesCapacity) -> Self:
        """Return the batch without the points of series that cannot be stored beside the `known` ones."""
        wrong = [fault for name, _ in self.decoded.keys if (fault := _unfit(name))]
        kept = np.array([_unfit(name) is None for name, _ in self.decoded.keys], bool)
        source = label_of(self.source)
        for place, (name, rank) in enumerate(self.decoded.keys):
            if kept[place] and (source, name, rank) not in known:
                kept[place] = capacity.admit(source, name, rank)
        if kept.all():
            return self
        wrong.append(PointFault("name", _TOO_MANY))
        points = [point for point, its in zip(self.decoded.plain(), self.decoded.series.tolist(), strict=True) if kept[its]]
        packed = records.pack_points(points)
        return type(self)(self.source, self.number, packed, decode(packed), wrong[0])


def too_large(size: int) -> PointFault:
    return PointFault("points", f"a batch of {size / 1e6:,.1f} MB; {LARGEST / 1e6:.1f} MB are the most, send it as several")


def told(batches: Iterable[Came]) -> dict[str, tuple[str, PointFault]]:
    """Return the first fault of each process and field: label and fault, by `label: field`."""
    found: dict[str, tuple[str, PointFault]] = {}
    for batch in batches:
        if batch.fault is not None:
            who = label_of(batch.source)
            found.setdefault(f"{who}: {batch.fault.field}", (who, batch.fault))
    return found


def sentence(who: str, fault: PointFault) -> str:
    return f"Some metrics of {who} could not be stored. The field '{fault.field}': {fault.sentence}."


def _unfit(name: str) -> PointFault | None:
    if not name:
        return PointFault("name", "it is empty; give the metric a name")
    return PointFault("name", f"{_many(name)}; shorten the name '{name[:_SHOWN]}...'") if len(name) > LONGEST else None


def _many(text: str) -> str:
    return f"{len(text):,} characters, and {LONGEST} are the most"


def _wrong(packed: bytes) -> PointFault:
    """Return where and why a batch cannot be stored."""
    try:
        found = json.loads(packed)
    except (ValueError, RecursionError):
        return PointFault("points", "they are not JSON; send them as `gradstream.wire.telemetry.records` packs them")
    for record in found if isinstance(found, list) else [found]:
        if not isinstance(record, list) or len(record) < _PLACE or len(record) % 2 != _PLACE % 2:
            return PointFault(
                "points", f"{_short(record)} is not a record; send [time, rank, step, samples, version, name, value, ...]"
            )
        if not _number(record[0]) or not 0 <= record[0] < _END_OF_TIME:
            return PointFault("time", f"{_short(record[0])} is not a time; send seconds since the epoch")
        for field, value in zip(_COUNTERS, record[1:_PLACE], strict=True):
            most = 2**31 if field == "rank" else _BITS
            if not _number(value) or not -most <= value < most:
                return PointFault(field, f"{_short(value)} is not a whole number of {most.bit_length()} bits; count from 0")
    return PointFault("value", "one is not a number; send numbers, and NaN and infinities as text")


def _number(value: Any) -> bool:
    return isinstance(value, int | float)


def _short(value: Any) -> str:
    text = storable(json.dumps(value)) if not isinstance(value, int) else hex(value) if abs(value) >= 2**200 else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

"""What of a batch is stored. User code shares its process's account on the plane, so anything may come: what Postgres cannot hold,
or what would take the room of other jobs, is left out, and a sentence says which field it was. No database here."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np

from backend.db import storable
from backend.metrics.origins import MOST_OF_SOURCE, MOST_SERIES, SeriesKey, SeriesRoom
from backend.metrics.points import Decoded, decode, label
from gradstream.wire import records

LARGEST = 8 * 2**20
"""Bytes of a batch: what a reporter sends at once is some hundred kB."""
LONGEST = 200
"""Characters of a name or source: they stand in indexes, whose entries are short."""
_TOO_MANY = (
    f"there are more than {MOST_SERIES:,} series (names and ranks) of the job's own, or {MOST_OF_SOURCE:,} of one process; "
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
class Fault:
    """Why something is left out."""

    field: str
    sentence: str
    """What is wrong with it, and the remedy."""


@dataclass(frozen=True, slots=True)
class Came:
    """A batch as it is stored; one that is refused has no points."""

    source: str
    number: int
    packed: bytes
    decoded: Decoded
    fault: Fault | None = None

    @classmethod
    def read(cls, source: str, number: int, packed: bytes) -> Self:
        source = storable(source)
        if len(source) > LONGEST:
            return cls.refused(*_UNKNOWN, Fault("source", f"{_many(source)}; leave it as the platform has given it"))
        if not -_BITS <= number < _BITS:
            return cls.refused(*_UNKNOWN, Fault("batch", f"{_short(number)} does not fit into 64 bits; count batches from 0"))
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
    def refused(cls, source: str, number: int, fault: Fault) -> Self:
        return cls(source, number, _NOTHING, decode(_NOTHING), fault)

    def within(self, known: Collection[SeriesKey], room: SeriesRoom) -> Self:
        """Without the points of series that cannot be stored beside these."""
        wrong = [fault for name, _ in self.decoded.keys if (fault := _long(name))]
        kept = np.array([_long(name) is None for name, _ in self.decoded.keys], bool)
        source = label(self.source)
        for place, (name, rank) in enumerate(self.decoded.keys):
            if kept[place] and (source, name, rank) not in known:
                kept[place] = room.admit(source, name, rank)
        if kept.all():
            return self
        wrong.append(Fault("name", _TOO_MANY))
        points = [point for point, its in zip(self.decoded.plain(), self.decoded.series.tolist(), strict=True) if kept[its]]
        packed = records.pack_points(points)
        return type(self)(self.source, self.number, packed, decode(packed), wrong[0])


def too_large(size: int) -> Fault:
    return Fault("points", f"a batch of {size / 1e6:,.1f} MB; {LARGEST / 1e6:.1f} MB are the most, send it as several")


def told(batches: Iterable[Came]) -> dict[str, tuple[str, Fault]]:
    """The first fault of each process and field: label and fault, by what says which."""
    found: dict[str, tuple[str, Fault]] = {}
    for batch in batches:
        if batch.fault is not None:
            who = label(batch.source)
            found.setdefault(f"{who}: {batch.fault.field}", (who, batch.fault))
    return found


def sentence(who: str, fault: Fault) -> str:
    return f"Some metrics of {who} are not stored. The field '{fault.field}': {fault.sentence}."


def _long(name: str) -> Fault | None:
    return Fault("name", f"{_many(name)}; shorten the name '{name[:_SHOWN]}...'") if len(name) > LONGEST else None


def _many(text: str) -> str:
    return f"{len(text):,} characters, and {LONGEST} are the most"


def _wrong(packed: bytes) -> Fault:
    """Of a batch that cannot be stored, where and why."""
    try:
        found = json.loads(packed)
    except (ValueError, RecursionError):
        return Fault("points", "they are no JSON; send them as `gradstream.wire.records` packs them")
    for record in found if isinstance(found, list) else [found]:
        if not isinstance(record, list) or len(record) < _PLACE or len(record) % 2 != _PLACE % 2:
            return Fault("points", f"{_short(record)} is no record; send [time, rank, step, samples, version, name, value, ...]")
        if not _number(record[0]) or not 0 <= record[0] < _END_OF_TIME:
            return Fault("time", f"{_short(record[0])} is none; give seconds since the epoch")
        for field, value in zip(_COUNTERS, record[1:_PLACE], strict=True):
            most = 2**31 if field == "rank" else _BITS
            if not _number(value) or not -most <= value < most:
                return Fault(field, f"{_short(value)} is no whole number of {most.bit_length()} bits; count from 0")
    return Fault("value", "one is no number; send numbers, and NaN and infinities as text")


def _number(value: Any) -> bool:
    return isinstance(value, int | float)


def _short(value: Any) -> str:
    text = storable(json.dumps(value)) if not isinstance(value, int) else hex(value) if abs(value) >= 2**200 else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

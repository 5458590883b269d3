"""The position of a rank in its data: it travels with each push, and comes back to the next incarnation of that rank."""

from __future__ import annotations

Place = tuple[tuple[int, int], ...]
"""Offset and event time (milliseconds), by partition: what comes before them has been taken, as far as it is this rank's. Empty:
the number of mini-batches says what was taken."""
Position = int | tuple[int, Place]
"""Mini-batches that a rank has taken, over all its incarnations; with its place, if data without numbers for its examples is
followed."""


def position_at(taken: int, place: Place) -> Position:
    return (taken, place) if place else taken


def taken_at(position: Position) -> int:
    """Return the mini-batches that were taken."""
    return position if isinstance(position, int) else position[0]


def place_at(position: Position) -> Place:
    return () if isinstance(position, int) else position[1]


def offsets_at(position: Position) -> list[int]:
    return [offset for offset, _ in place_at(position)]

"""Grants: numbers of mini-batches that the servers deal to a worker."""

from __future__ import annotations

from collections.abc import Iterable

Grant = tuple[tuple[int, int], ...]
"""Ranges of numbers, in the order in which they are trained: the first number of each, and how many there are."""


def grant_of(numbers: Iterable[int]) -> Grant:
    """Return these numbers as ranges, in their order."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and sum(ranges[-1]) == number:
            ranges[-1] = (ranges[-1][0], ranges[-1][1] + 1)
        else:
            ranges.append((number, 1))
    return tuple(ranges)


def numbers_of(grant: Grant) -> list[int]:
    return [number for first, count in grant for number in range(first, first + count)]

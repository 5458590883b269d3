"""Ids of entries in Redis streams: `<milliseconds>-<number>`, ordered as two numbers and not as text."""

from __future__ import annotations


def place(id: str) -> tuple[int, int]:
    """Return the id as two numbers, which compare in the order of entries. `0` is before every entry."""
    milliseconds, _, number = id.partition("-")
    return int(milliseconds), int(number or 0)


def behind(id: str) -> str:
    """Return the lowest id above `id`: trimming a stream to it drops the entry `id` and all before it."""
    milliseconds, number = place(id)
    return f"{milliseconds}-{number + 1}"

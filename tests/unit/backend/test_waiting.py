"""Batches are taken apart once, into what is in them, and few are kept."""

from __future__ import annotations

import numpy as np
import pytest

from backend.metrics.store import payloads
from backend.metrics.store.points import decode
from backend.metrics.store.waiting import Apart
from gradstream.metrics import LOSS, STALENESS, Point
from gradstream.wire.telemetry import records


def batch(number: int, points: int = 20) -> bytes:
    made = [
        Point(name, 0, step, step, step, 1e9, number + step / 7) for step in range(points) for name in (LOSS.name, STALENESS.name)
    ]
    return payloads.pack(records.pack_points(made))


def test_what_is_kept_is_what_is_in_the_batch() -> None:
    apart = Apart()
    for number in (1, 2, 1):
        expected = decode(payloads.unpack(batch(number))).groups()
        for found, group in zip(apart.groups(batch(number)), expected, strict=True):
            assert (found.name, found.rank) == (group.name, group.rank)
            assert np.array_equal(found.points, group.points)
    assert apart.groups(batch(1)) is apart.groups(batch(1))


def test_nobody_changes_what_others_read() -> None:
    [group, _] = Apart().groups(batch(1))
    with pytest.raises(ValueError, match="read-only"):
        group.points["value"] = 0


def test_the_oldest_are_dropped_and_the_largest_is_not_kept() -> None:
    one = Apart()
    one.groups(batch(0))
    apart = Apart(most=3 * one.bytes + one.bytes // 2)
    first, second = apart.groups(batch(0)), apart.groups(batch(1))
    apart.groups(batch(2))
    apart.groups(batch(0))  # read again: the second is the oldest now
    apart.groups(batch(3))
    assert apart.bytes <= apart.most
    assert apart.groups(batch(0)) is first
    assert apart.groups(batch(1)) is not second
    before = apart.bytes
    assert len(apart.groups(batch(9, points=1000))) == 2
    assert apart.bytes == before

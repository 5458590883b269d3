"""Ids of stream entries are numbers: as text, `9-0` would stand behind `10-0`."""

from __future__ import annotations

from gradstream.wire.redis import ids


def test_are_ordered_as_numbers() -> None:
    assert sorted(["10-0", "9-10", "9-2", "0"], key=ids.place) == ["0", "9-2", "9-10", "10-0"]


def test_the_next_one_is_in_the_same_millisecond() -> None:
    assert ids.behind("1700000000000-41") == "1700000000000-42"
    assert ids.behind("0") == "0-1"

"""Which cases of a test `make test` runs: all of them, or some of a test marked `few`, spread over its parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import pytest


def leave_out(items: Iterable[pytest.Item]) -> None:
    """Mark the cases as `more` that `@pytest.mark.few(n)` leaves out: `make test-more` runs them."""
    cases = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("long"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for of_one_test in cases.values():
        few = of_one_test[0].get_closest_marker("few")
        kept = set(spread(len(of_one_test), few.args[0] if few else 1))
        for number, item in enumerate(of_one_test):
            if number not in kept:
                item.add_marker(pytest.mark.more)


def spread(count: int, few: int) -> Iterator[int]:
    """Yield the numbers of `few` among `count` cases: the first one, and others at equal distances."""
    chosen = min(few, count)
    return (number * count // chosen for number in range(chosen))

"""The pushes that are measured: one in each block, at a random place."""

from __future__ import annotations

import random


class MeasuredPlaces:
    def __init__(self, every: int, seed: str) -> None:
        self._every, self._random = every, random.Random(seed)
        self._count = 0
        self._due = self._random.randrange(every)

    @property
    def next_is_due(self) -> bool:
        return self._count == self._due

    def count(self) -> bool:
        """Count a push, and return whether it is one of those."""
        was_due = self.next_is_due
        self._count += 1
        if was_due:
            self._due += self._every - self._due % self._every + self._random.randrange(self._every)
        return was_due

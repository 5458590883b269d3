"""Workers that all others wait for, in a job without servers: one that is frozen closes no connection and writes no log.

A worker that waits unusually long says in Redis for which turn. The first of those that wait for a turn reports the workers that do
not: they have not come to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from redis import Redis

from gradstream.wire.redis import keys
from gradstream.wire.redis.client import retry

SAYS_EVERY = 5.0
"""Seconds after which a worker says that it waits, and between two looks at who else does."""
LEAST = 20.0
"""Seconds of a wait that may be unusual. All who wait have said so by then."""
_TIMES = 5.0
"""A wait is unusual that takes so many times the longest one before: a mini-batch may take as long as it likes."""

ReportAwaited = Callable[[int, float], None]
"""Reports that the others wait for this rank, for so many seconds; 0: no more."""


def report_nothing(rank: int, seconds: float) -> None:
    """Do nothing: where no reporter is."""


class AwaitedWorkers:
    def __init__(self, redis: Redis, j: str, rank: int, report: ReportAwaited) -> None:
        self._redis, self._key, self._rank, self._report = redis, keys.meeting(j, "waiting"), rank, report
        self._waited = self._longest = self._due = 0.0
        """Seconds: of this wait, of the longest one before it, and when this one is looked at next."""
        self._reported = set[int]()

    def look(self, waited: float, turn: int, ranks: Iterable[int]) -> None:
        """Note that this worker has waited so long in a turn, from 1; before, others still start. `ranks`: the workers that come to
        it."""
        if waited < self._waited:  # another wait of the same turn
            self._longest, self._due = max(self._longest, self._waited), 0.0
        self._waited = waited
        if turn < 1 or waited < max(SAYS_EVERY, self._due):
            return
        self._due = waited + SAYS_EVERY
        found = self._say_and_look(turn)
        waiting = [rank for rank in ranks if found.get(rank) == turn]
        if waited >= max(LEAST, _TIMES * self._longest) and waiting and waiting[0] == self._rank:
            self._report_all({rank for rank in ranks if rank not in waiting}, waited)

    def end(self) -> None:
        """Note that a turn begins: the wait of the last one is over."""
        self._longest, self._waited, self._due = max(self._longest, self._waited), 0.0, 0.0
        self._report_all(set(), 0.0)

    def _say_and_look(self, turn: int) -> dict[int, int]:
        retry(lambda: self._redis.hset(self._key, str(self._rank), turn), what="telling that this worker waits")
        found: Any = retry(lambda: self._redis.hgetall(self._key), what="looking who waits")
        return {int(rank): int(of_turn) for rank, of_turn in found.items()}

    def _report_all(self, awaited: set[int], waited: float) -> None:
        for rank in sorted(self._reported - awaited):
            self._report(rank, 0.0)
        for rank in sorted(awaited):
            self._report(rank, waited)
        self._reported = awaited

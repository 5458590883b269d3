"""The agenda of events in virtual time: entries that reach the log, workers that are lost, and workers that start."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

from gradstream.center.entries import Init, Join, Leave, Lookup, Payload, Pull, Push, Saved

FromWorker = Init | Join | Push | Pull | Lookup | Saved | Leave


@dataclass(frozen=True)
class WorkerFailure:
    """A worker is lost, with its unfinished computation, right after push number `event` of the run."""

    event: int
    rank: int
    respawn: bool = True


class Lost(NamedTuple):
    """An incarnation of a rank ends, beside the log."""

    incarnation: int
    at: float


class Comes(NamedTuple):
    """A new incarnation of a rank begins."""

    incarnation: int


class Due(NamedTuple):
    """An event at a time; mostly an entry that reaches the log."""

    time: float
    kind: int
    rank: int
    order: int
    what: FromWorker | Lost | Comes
    payload: Payload | None = None


class Agenda:
    """Events in order of time, kind and rank; equal ones in the order in which they were added."""

    def __init__(self) -> None:
        self._heap: list[Due] = []
        self._added = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, time: float, rank: int, what: FromWorker | Lost | Comes, payload: Payload | None = None) -> None:
        self._added += 1
        heapq.heappush(self._heap, Due(time, _kind(what), rank, self._added, what, payload))

    def next_at(self) -> float:
        """Return the time of the next event. The agenda must not be empty."""
        return self._heap[0].time

    def take(self) -> Due:
        return heapq.heappop(self._heap)


def _kind(what: FromWorker | Lost | Comes) -> int:
    """Return the order of events at the same time: entries that take no time, then pushes, leaves, and losses and starts."""
    match what:
        case Push():
            return 1
        case Leave():
            return 2
        case Lost() | Comes():
            return 3
        case _:
            return 0

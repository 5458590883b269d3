"""Logged numbers and media of a process that scores mini-batches for another one, which repeats the calls in its own order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from gradstream.user_logging.items import LimitExceeded, MediaKind, Snapshot
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.names import check_name
from gradstream.user_logging.scalars import LoggedScalars, Reduction


class LoggedCall(NamedTuple):
    name: str
    value: float
    reduce: Reduction
    weight: float


class MediaCall(NamedTuple):
    name: str
    kind: MediaKind
    taken: Snapshot | LimitExceeded


class RecordedScalars(LoggedScalars):
    """Keeps each call, beside what a process keeps of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[LoggedCall] = []

    def add(self, name: str, value: Any, reduce: Reduction = "mean") -> None:
        """Raises: InvalidWorkload."""
        super().add(name, value, reduce)
        self._calls.append(LoggedCall(name, float(value), reduce, self.weight))

    def take_calls(self) -> list[LoggedCall]:
        taken, self._calls = self._calls, []
        self.take()
        return taken


class RecordedMedia(LoggedMedia):
    """Keeps the first item of each name. Limits are for the process that repeats the calls."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[MediaCall] = []

    def begin(self) -> None:
        """Begin an evaluation: each name may come again."""
        self._names.clear()
        self._calls.clear()

    def add(self, name: str, kind: MediaKind, take: Callable[[], Snapshot]) -> None:
        """Raises: InvalidWorkload."""
        if not self.enabled or name in self._names:
            return
        self._names.add(check_name(name, f"log_{kind}"))
        try:
            taken: Snapshot | LimitExceeded = take()
        except LimitExceeded as error:
            taken = error
        self._calls.append(MediaCall(name, kind, taken))

    def take_calls(self) -> list[MediaCall]:
        taken, self._calls = self._calls, []
        return taken


def repeat_calls(numbers: Sequence[LoggedCall], items: Sequence[MediaCall], scalars: LoggedScalars, media: LoggedMedia) -> None:
    """Log what another process has recorded. Raises: InvalidWorkload."""
    for name, value, reduce, weight in numbers:
        scalars.weight = weight
        scalars.add(name, value, reduce)
    for item in items:
        media.enabled = True
        media.add(item.name, item.kind, partial(_taken, item.taken))


def _taken(taken: Snapshot | LimitExceeded) -> Snapshot:
    if isinstance(taken, LimitExceeded):
        raise taken
    return taken

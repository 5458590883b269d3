"""Samples per second of a worker, weighed by time: the smaller mini-batch at the end of an epoch takes as long as a full one, and
is no reason to show a quarter of the throughput."""

from __future__ import annotations

from collections import deque

_SECONDS = 5.0
_FEWEST = 4
"""Pushes. Where one takes long, the last few count, however long they took."""


class Rate:
    """Over the pushes of the last seconds together."""

    def __init__(self) -> None:
        self._pushes: deque[tuple[int, float]] | None = None
        """None before the first push. That one is not kept: it took the start of the process, too."""
        self._examples = 0
        self._seconds = 0.0

    def after(self, examples: int, seconds: float) -> float:
        """One more push, so many seconds after the one before."""
        if self._pushes is None:
            self._pushes = deque()
            return examples / max(seconds, 1e-9)
        self._pushes.append((examples, seconds))
        self._examples += examples
        self._seconds += seconds
        while len(self._pushes) > _FEWEST and self._seconds - self._pushes[0][1] >= _SECONDS:
            fewer, earlier = self._pushes.popleft()
            self._examples -= fewer
            self._seconds -= earlier
        return self._examples / max(self._seconds, 1e-9)

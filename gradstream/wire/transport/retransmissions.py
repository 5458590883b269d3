"""The count of the messages and vectors that one process rejected, and whose resend it requested."""

from __future__ import annotations

from collections.abc import Callable


class Retransmissions:
    def __init__(self, report: Callable[[int], None] = lambda count: None) -> None:
        """`report(count)` is called with each new count."""
        self.count = 0
        self._report = report

    def add(self) -> None:
        self.count += 1
        self._report(self.count)

"""The time axis that all workers of an attempt share. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gradstream.progress.process_summary import ProcessSummaries

_WORKER = "worker-"


@dataclass(frozen=True, slots=True)
class AttemptSpan:
    """The time that all workers of an attempt share, in seconds since the epoch; 0: not yet."""

    began: float
    ended: float
    left: Mapping[int, float]
    """When workers left for good, by rank."""

    @classmethod
    def of(cls, found: ProcessSummaries, began: float, left: Mapping[int, float]) -> AttemptSpan:
        """It ends when the last worker has left, or with the last that was heard of one."""
        heard = {label: one for label, one in found.processes.items() if label.startswith(_WORKER)}
        over = bool(heard) and all(int(label.removeprefix(_WORKER)) in left for label in heard)
        return cls(began, max(left.values() if over else (one.at for one in heard.values()), default=began), left)

    @property
    def seconds(self) -> float:
        return max(0.0, self.ended - self.began) if self.began else 0.0

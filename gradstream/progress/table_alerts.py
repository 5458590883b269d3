"""The alert of servers whose embedding tables leave little of their machine's memory. Pure."""

from __future__ import annotations

from pydantic import BaseModel, Field

from gradstream import metrics
from gradstream.metrics import Point

NEARLY_FULL, ROOMY = 0.10, 0.15
"""Shares of the machine's memory that are left: the alert comes below the first, and goes above the second."""
TAKEN = frozenset({metrics.TABLE_BYTES.name, metrics.TABLE_MEMORY_LEFT.name})
"""Metrics that `take` looks at."""
_SERVERS = 1000


class TableWatch(BaseModel):
    """The memory of each server's tables in one attempt, by label. Rows of Postgres hold its fields by name."""

    nbytes: dict[str, int] = Field(default_factory=dict)
    full: dict[str, float] = Field(default_factory=dict)
    """Servers whose machine is nearly full, with the share of its memory that was left last."""

    def take(self, label: str, point: Point) -> None:
        if point.name == metrics.TABLE_BYTES.name and (label in self.nbytes or len(self.nbytes) < _SERVERS):
            self.nbytes[label] = int(point.value)
        elif point.name == metrics.TABLE_MEMORY_LEFT.name and label in self.nbytes:
            if point.value < (ROOMY if label in self.full else NEARLY_FULL):
                self.full[label] = point.value
            else:
                self.full.pop(label, None)

    def resolutions(self) -> dict[str, str]:
        """Return the sentence that says an alert is over, for each server that has one."""
        return {label: f"The machine of {label} has at least {ROOMY:.0%} of its memory left again." for label in self.full}

    def sentence(self, label: str, *, ended: bool = False) -> str:
        """Return the alert of a server that is nearly full, with its remedy. `ended`: the job is over."""
        taken = f"{self.nbytes.get(label, 0) / 1e9:,.1f} GB"
        has, take, bound = ("had", "took", "In the next run, bound") if ended else ("has", "take", "Bound")
        return (
            f"The machine of {label} {has} {self.full[label]:.0%} of its memory left, and this server's tables {take} {taken}. "
            f"A server that gets no memory ends. {bound} the tables with `most` or `keep`, make rows of fewer keys with `admit`, "
            "or run more servers on other machines (roles.server.count)."
        )

"""The definition of a metric, which emitters, storage, charts and exports share, and the register of all metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher", "neither"]
FORMULA = r"^[=+@\t\r-]"
"""How a name begins that a spreadsheet takes for a formula when it reads CSV: there it gets an apostrophe."""


_GROUPS = {
    "train": "Training",
    "pass": "Passes",
    "eval": "Evaluation",
    "time": "Time of a push",
    "peer": "Processes of groups",
    "push": "Pushes",
    "server": "Servers",
    "ledger": "Ledger",
    "table": "Embedding tables",
    "checkpoint": "Checkpoints",
    "export": "Exports",
    "rows": "Rows of each table",
    "worker": "Workers",
    "plane": "Data plane",
    "data": "Data",
    "system": "Machines",
}
"""Titles of the groups, by what stands before "/" in their names, in the order in which pages list them."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    title: str
    unit: str
    meaning: str
    better: Better = "neither"
    drawn: bool = True
    """False: it is one number, which the job's progress shows, and no chart."""

    @property
    def group(self) -> str:
        """The title of its group."""
        return _GROUPS[self.name.partition("/")[0]]


CATALOGUE: dict[str, Metric] = {}
"""All metrics by name."""


def define_metric(name: str, title: str, unit: str, meaning: str, better: Better = "neither", *, drawn: bool = True) -> Metric:
    """Return a new metric, which is in the catalogue from here on. Raises: ValueError if the name is taken."""
    if name in CATALOGUE:
        raise ValueError(f"the metric '{name}' is defined twice")
    CATALOGUE[name] = Metric(name, title, unit, meaning, better, drawn)
    return CATALOGUE[name]


def listed_metrics() -> list[Metric]:
    """Return all metrics in the order in which pages list them: by group."""
    groups = list(_GROUPS.values())
    return sorted(CATALOGUE.values(), key=lambda metric: groups.index(metric.group))

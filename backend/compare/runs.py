"""The runs whose settings are to explain a figure: read from the database, then explained without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from backend.compare import importance
from backend.compare.figures import figures
from backend.files import FileStore
from backend.jobs import service as jobs
from backend.overview import service as overview
from gradstream.api.charts import Importance
from gradstream.api.statuses import ENDED

_OF_NO_MATTER = ("name",)
"""Settings that differ between any two jobs and say nothing about how they train."""


@dataclass(frozen=True)
class FigureRuns:
    figure: str
    values: list[float]
    """The figure of each run."""
    settings: list[dict[str, Any]]
    """The effective values of each run by their paths."""
    running: list[UUID]
    without: list[UUID]
    missing: list[UUID]


def read(session: Session, files: FileStore, asked: Sequence[UUID], figure: str) -> FigureRuns:
    """Only jobs that have ended count: the figure of another is still to change."""
    wanted = list(dict.fromkeys(asked))
    rows = jobs.several(session, wanted)
    ended = [row for row in rows if row.status in ENDED]
    found = figures(session, ended, figure)
    counted = [row for row in ended if row.id in found]
    known = {row.id for row in rows}
    return FigureRuns(
        figure=figure,
        values=[found[row.id] for row in counted],
        settings=[_flat(overview.effective(files, row)) for row in counted],
        running=[row.id for row in rows if row.status not in ENDED],
        without=[row.id for row in ended if row.id not in found],
        missing=[job for job in wanted if job not in known],
    )


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values by their dotted paths; a list is one value."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else {f"{prefix}{name}": value}
    return {path: value for path, value in flat.items() if path not in _OF_NO_MATTER}


def explain(runs: FigureRuns) -> Importance:
    """Compute the importance of the settings that differ, or say why that is not possible."""
    settings = importance.differing(runs.settings)
    reason = _obstacle(runs, len(settings))
    explained = None if reason else importance.explain(settings, runs.values)
    needed = importance.needed_r2(len(runs.values)) if explained else None
    return Importance(
        figure=runs.figure,
        runs=len(runs.values),
        r2=explained and explained.r2,
        needed_r2=needed,
        believed=explained is not None and needed is not None and explained.r2 >= needed,
        reason=reason,
        settings=explained.settings if explained else [],
        running=runs.running,
        without=runs.without,
        missing=runs.missing,
    )


def _obstacle(runs: FigureRuns, settings: int) -> str | None:
    count = len(runs.values)
    if count < importance.FEWEST_RUNS:
        said = "No ended run has" if not count else "Only 1 ended run has" if count == 1 else f"Only {count} ended runs have"
        why = "chance explains fewer as well as a setting does."
        return f"{said} a finite value of this figure. Compare at least {importance.FEWEST_RUNS}: {why}"
    if not settings:
        return "No setting differs between these runs."
    if settings > importance.MOST_SETTINGS:
        most = importance.MOST_SETTINGS
        return f"{settings} settings differ between these runs. Compare runs that differ in {most} at most."
    if min(runs.values) == max(runs.values):
        return "The figure is the same in all runs, so no setting explains a difference."
    return None

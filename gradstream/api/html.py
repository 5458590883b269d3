"""Tables for notebooks. All text from a platform is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradstream.api.charts import JobTarget
    from gradstream.api.jobs import JobSummary


def show_jobs(jobs: Iterable[JobSummary]) -> str:
    rows = []
    for job in jobs:
        progress = job.progress
        samples = f"{progress.samples:,}" + (f" of {progress.total_samples:,}" if progress.total_samples else "")
        evaluation = ", ".join(f"{name} {_number(value)}" for name, value in progress.eval.items())
        status = job.status + (f": {job.message}" if job.message and job.status not in ("running", "succeeded") else "")
        rows.append((str(job.id)[:8], job.name, status, f"{job.strategy} {job.gate}", samples, evaluation))
    return _table(("id", "name", "status", "strategy", "samples", "evaluation"), rows)


def show_targets(targets: Iterable[JobTarget]) -> str:
    rows = []
    for target in targets:
        reached = target.reached
        when = (f"{reached.seconds:,.1f} s", f"{reached.samples:,}") if reached else ("not reached", "")
        rows.append((str(target.job)[:8], target.name, target.strategy, *when, _number(target.best)))
    return _table(("id", "name", "strategy", "time to target", "samples", "best value"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f'<{tag} style="text-align: left">{escape(cell)}</{tag}>' for cell in cells) + "</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"

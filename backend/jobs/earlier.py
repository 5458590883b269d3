"""Measurements of earlier jobs for the model of a new one: its size, and the time of a mini-batch."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.orm import Session

from backend.jobs import repository
from backend.jobs.models import JobRow
from backend.progress.state import center_bytes
from backend.progress.summary import shown
from gradstream.advise.forecast import ITEM, rhythm
from gradstream.api.plan import Size
from gradstream.spec import JobSpec


@dataclass(frozen=True, slots=True)
class EarlierMeasurement:
    job: UUID
    size: Size
    message: str
    """A sentence: the job it is from, and the settings it was scaled by."""


def measured(session: Session, spec: JobSpec, bundle: str | None) -> EarlierMeasurement | None:
    """Measure by the newest job that trained this workload with these arguments; a job of the same bundle comes before others."""
    for row in repository.of_entrypoint(session, spec.workload.entrypoint, bundle):
        with suppress(ValueError, TypeError, ArithmeticError):  # of a version whose job files were others, or with absurd numbers
            if found := _measured(row, spec, bundle):
                return found
    return None


def _measured(row: JobRow, spec: JobSpec, bundle: str | None) -> EarlierMeasurement | None:
    there, nbytes = JobSpec.model_validate(row.spec), center_bytes(row.progress)
    if not nbytes or there.workload != spec.workload:
        return None
    parameters = max(1, nbytes // ITEM * spec.members // there.members)
    same = bundle and row.bundle == bundle
    code = "a job of the same code" if same else "the latest job of this workload; its code may differ"
    message = f"As measured in {row.name}, {code}.{_scaled(there, spec)}"
    return EarlierMeasurement(row.id, Size(parameters=parameters, step=_step(row, there, spec)), message)


def _step(row: JobRow, there: JobSpec, spec: JobSpec) -> float | None:
    exchange, beat = shown(row.progress, there.effective_gate).exchange, rhythm(there)
    if exchange is None or beat is None or not exchange.compute:
        return None
    of_one = exchange.compute * there.parallelism
    return of_one * beat[0] * spec.batch_size / there.batch_size * spec.members / there.members


def _scaled(there: JobSpec, spec: JobSpec) -> str:
    """Name the settings that had another value there; the measurement is assumed to be in proportion to them."""
    pairs = (("mini-batches of", there.batch_size, spec.batch_size), ("members:", there.members, spec.members))
    changed = [f"{what} {before}" for what, before, now in pairs if before != now]
    return f" Scaled from {' and '.join(changed)} there." if changed else ""

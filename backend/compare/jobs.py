"""Jobs of a comparison, and the charts of one metric of them: one request for many, as each costs the page a round trip."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from backend.compare.schemas import ComparedJob, ComparedJobs
from backend.files import FileStore
from backend.jobs import service as jobs
from backend.overview import service as overview


def read(session: Session, files: FileStore, ids: Sequence[UUID]) -> ComparedJobs:
    """Return those that exist, in this order."""
    rows = jobs.several(session, list(dict.fromkeys(ids)))
    return ComparedJobs(items=[ComparedJob(job=jobs.view(row), effective=overview.effective(files, row)) for row in rows])

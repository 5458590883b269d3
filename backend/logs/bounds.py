"""How much of a process's output is stored: the beginning and the end. A line says where something is left out."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.jobs.models import ProcessRow
from backend.logs import repository

HEAD, TAIL = 16 * 2**20, 48 * 2**20
"""Bytes that are kept of each process. Its node keeps no more either."""
STEP = 4 * 2**20
"""Bytes that may be more, so that rows are not removed with each chunk."""


def line_about(left_out: int) -> str:
    """In place of this many bytes."""
    return (
        f"\n[{left_out / 1e6:,.1f} MB of output are left out here: the first {HEAD >> 20} and the last {TAIL >> 20} MiB are kept]\n"
    )


def trim(session: Session, process: ProcessRow, before: int) -> None:
    """Remove what lies between the beginning and the end, now and then. `before`: bytes of output before the last chunk."""
    if process.log_bytes > HEAD + TAIL + STEP and before // STEP != process.log_bytes // STEP:
        repository.leave_out(session, process.id, HEAD, process.log_bytes - TAIL, line_about)

"""A heartbeat speaks for all jobs of its node: what fails for one of them must not cost the node its heartbeat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog
from sqlalchemy import text
from sqlalchemy.orm import Session

from backend.away import AWAY, first_line
from gradstream.programs.log_limit import LogLimit

log = structlog.get_logger(__name__)

_limit = LogLimit()
_SHORT_WAITS = text("SET LOCAL lock_timeout = '1s'")
"""An agent waits 5 s for its answer; what is left out is reported again with the next heartbeat."""


def wait_shortly(session: Session) -> None:
    """From now on, this transaction waits for the lock of a job for a second only."""
    session.execute(_SHORT_WAITS)


@contextmanager
def guarded(session: Session, job_id: UUID) -> Iterator[None]:
    """A part of the transaction about one job, which is rolled back alone if it fails. Raises: what says that a server is away."""
    try:
        with session.begin_nested():
            yield
    except AWAY:
        raise
    except Exception as error:
        held_back = _limit.take((job_id, type(error).__name__))
        if held_back is not None:
            log.error(
                "a part of a heartbeat failed for one job; the next heartbeat tries again",
                job=str(job_id),
                lines_held_back=held_back,
                error=first_line(error),
                exc_info=error,
            )

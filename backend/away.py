"""When a server that the control plane needs does not answer: which exceptions say so. Waiting and trying again is the remedy."""

from __future__ import annotations

import psycopg.errors
from sqlalchemy import ExceptionContext
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from gradstream.errors import Unavailable
from gradstream.wire import client


class NotMigrated(Unavailable):
    """The database answers, but has no tables yet: `python -m backend migrate` has not run, or runs right now."""


REDIS = client.AWAY
AWAY = (OperationalError, InterfaceError, PoolTimeout, NotMigrated, *REDIS)


def tell_missing_tables(context: ExceptionContext) -> None:
    """For SQLAlchemy's `handle_error`: programs may be started before the tables are there."""
    if isinstance(context.original_exception, psycopg.errors.UndefinedTable):
        raise NotMigrated("The database has no tables yet; run: python -m backend migrate") from context.original_exception


def first_line(error: Exception) -> str:
    """SQLAlchemy adds the statement and a link below; a log line needs neither."""
    return (str(error).splitlines() or [type(error).__name__])[0]

"""Exceptions that say that a server which the control plane needs does not answer. The remedy is to wait and try again.

A database that answers, but cannot do what was asked (its time is over, its disk is full), is another case with its own message."""

from __future__ import annotations

import errno

import psycopg
import psycopg.errors
from sqlalchemy import ExceptionContext
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from gradstream.errors import Unavailable
from gradstream.wire.redis import client


class NotMigrated(Unavailable):
    """The database answers, but has no tables yet: `python -m backend migrate` has not run, or runs right now."""


class DatabaseAway(Unavailable):
    """The database takes no connection, has closed one, shuts down or recovers."""


REDIS = client.AWAY
AWAY = (DatabaseAway, PoolTimeout, NotMigrated, *REDIS)
MAY_PASS = (*AWAY, OperationalError)
"""For work that is repeated anyway: also a database that cannot do it, for a lock or for want of time, memory or disk space."""

_ENDED = ("08", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04")
"""Beginnings of the SQLSTATEs with which Postgres ends or refuses a connection, whatever was asked."""
_DISK_FULL = "53100"
_CANNOT = {
    "57014": "was stopped by the database, as it took too long; ask for less at a time, or try again when it has less to do",
    "55P03": "timed out waiting for a lock of another request; try again in a moment",
    "40": "and another one changed the same at the same time; try again",
    _DISK_FULL: "found the database's disk full; ask the operator to free some space, then try again",
    "53": "is more than the database has memory or connections for now; try again in a moment",
    "54": "is larger than a limit of the database; ask for less at a time",
}
"""Messages about a request, by the beginning of the SQLSTATE; the first that fits counts."""


def tell_kinds(context: ExceptionContext) -> None:
    """Raise the platform's exception for an error of the driver, if there is one. A handler of SQLAlchemy's `handle_error`."""
    error = context.original_exception
    if isinstance(error, psycopg.errors.UndefinedTable):  # programs may be started before the tables are there
        raise NotMigrated("The database has no tables yet; run: python -m backend migrate") from error
    if isinstance(error, psycopg.Error) and not context.is_pre_ping and _ended(error, context):
        raise DatabaseAway(str(error)) from error


def _ended(error: psycopg.Error, context: ExceptionContext) -> bool:
    """An error of the driver itself has no SQLSTATE: there was no connection, or there is none any more, or it is a mistake."""
    return error.sqlstate.startswith(_ENDED) if error.sqlstate else context.connection is None or context.is_disconnect


def cannot(error: OperationalError) -> str:
    """Return the message for a user when the database answers, but cannot do what was asked."""
    code, said = str(getattr(error.orig, "sqlstate", None)), first_line(error)
    known = next((sentence for begin, sentence in _CANNOT.items() if code.startswith(begin)), None)
    return f"The request {known}." if known else f"The database cannot do this now: {said}"


def is_disk_full(error: Exception) -> bool:
    """Return whether there was no space left for a file of the control plane, or for the database."""
    if isinstance(error, OperationalError):
        return getattr(error.orig, "sqlstate", None) == _DISK_FULL
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def first_line(error: Exception) -> str:
    """SQLAlchemy adds the statement and a link below; a log line needs neither."""
    return (str(error).splitlines() or [type(error).__name__])[0]

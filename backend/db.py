"""Postgres: one request, task or pass is one transaction; only its edge commits; messages leave after the commit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, cast

import structlog
from fastapi import Depends, Request
from sqlalchemy import DateTime, Engine, MetaData, create_engine, event, func, make_url, select, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker

from backend.away import tell_kinds
from backend.settings import BackendSettings, secret
from backend.wakeups.wakeup import Wakeup

log = structlog.get_logger(__name__)

AfterCommit = Callable[[], None]


class Base(DeclarativeBase):
    """Constraint names are fixed by convention, so that migrations can name what they change."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: DateTime(timezone=True), dict[str, Any]: JSONB, list[dict[str, Any]]: JSONB}  # noqa: RUF012


class Database:
    def __init__(
        self, settings: BackendSettings, wakeup: Wakeup | None = None, *, pool_size: int = 10, max_overflow: int = 5
    ) -> None:
        """`wakeup` tells listeners of changed jobs; without it (a command) they notice by themselves."""
        url = make_url(settings.database_url).set(drivername="postgresql+psycopg")
        self.url = url.set(password=secret(settings.database_password_file))
        self.engine: Engine = create_engine(
            self.url,
            pool_size=pool_size,
            max_overflow=max_overflow,
            pool_timeout=5,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={
                "connect_timeout": 5,  # a busy machine takes seconds to begin a process of Postgres
                "keepalives_idle": 5,
                "keepalives_interval": 2,
                "keepalives_count": 2,
                "tcp_user_timeout": 10_000,
                "options": "-c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s",
            },
        )
        event.listen(self.engine, "handle_error", tell_kinds)
        self._maker = sessionmaker(self.engine, expire_on_commit=False, info={"wakeup": wakeup})

    @contextmanager
    def transaction(self, *, snapshot: bool = False) -> Iterator[Session]:
        """Commits at the end, then sends what `after_commit` collected; an exception rolls all of it back.

        With `snapshot` all statements see the database as it was at the first one.
        """
        with self._maker.begin() as session:
            if snapshot:
                session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
            yield session

    def close(self) -> None:
        self.engine.dispose()


def after_commit(session: Session, key: object, send: AfterCommit) -> None:
    """Call `send` once this transaction has committed; never if it rolls back; once per `key`."""
    session.info.setdefault("after_commit", {})[key] = send


@event.listens_for(Session, "after_commit")
def _send(session: Session) -> None:
    if session.in_nested_transaction():
        return  # only a savepoint: the transaction may still be rolled back
    messages: dict[object, AfterCommit] = session.info.pop("after_commit", {})
    for send in messages.values():
        send()


@event.listens_for(Session, "after_rollback")
def _drop(session: Session) -> None:
    if session.in_nested_transaction():
        return  # what others have collected is still to be sent; a hint too many is harmless
    session.info.pop("after_commit", None)


def storable(text: str) -> str:
    """Replace NULs, which Postgres does not store, and half characters, which UTF-8 does not have. Job processes send any text."""
    return text.replace("\x00", "\ufffd").encode(errors="replace").decode()


def now(session: Session) -> datetime:
    """The database's clock. It alone decides what is late, on whatever machine this runs."""
    return cast(datetime, session.scalar(select(func.clock_timestamp())))


@lru_cache
def _lock_key(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


PLACES = "scheduler.place"
"""The lock for giving out slots and GPUs, and for saying that a node gives none."""


def wait_for_lock(session: Session, name: str) -> None:
    """Return when this transaction is the only one that holds the lock `name`. Raises: OperationalError after `lock_timeout`."""
    session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _lock_key(name)})


def try_lock(session: Session, name: str) -> bool:
    """True if this transaction now is the only one that holds the lock `name`; it lets go when it ends."""
    return bool(session.scalar(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _lock_key(name)}))


def get_session(request: Request) -> Iterator[Session]:
    with request.app.state.platform.database.transaction() as session:
        yield session


SessionDep = Annotated[Session, Depends(get_session, scope="function")]
"""A transaction that is committed before the answer leaves, so a client never holds a 201 for a row that is not there."""

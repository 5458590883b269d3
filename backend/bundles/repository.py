from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, String, any_, delete, func, literal, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.bundles.models import BundleRow

_NOTED_EVERY = timedelta(minutes=1)
_UNNAMED = text("NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.bundle = bundles.hash)")


def use(session: Session, hash: str) -> BundleRow | None:
    """Return the bundle, locked against removal until this transaction ends. Its use is noted, once a minute at most, as that is a
    write; a transaction that notes it now is not waited for."""
    found = select(BundleRow).where(BundleRow.hash == hash).execution_options(populate_existing=True)
    row = session.scalar(found.with_for_update(read=True, key_share=True))
    due = select(BundleRow.hash).where(BundleRow.hash == hash, BundleRow.used_at < func.clock_timestamp() - _NOTED_EVERY)
    noted = update(BundleRow).where(BundleRow.hash.in_(due.with_for_update(key_share=True, skip_locked=True)))
    session.execute(noted.values(used_at=func.clock_timestamp()), execution_options={"synchronize_session": False})
    return row


def enter(session: Session, *, hash: str, size: int, files: list[dict[str, Any]], user_id: UUID) -> None:
    """If it is there already, it is used again: the same hash is the same bundle."""
    row = {"hash": hash, "size": size, "files": files, "user_id": user_id}
    again = {"used_at": func.clock_timestamp()}
    session.execute(insert(BundleRow).values(row).on_conflict_do_update(index_elements=["hash"], set_=again))


def existing(session: Session, hashes: Sequence[str]) -> set[str]:
    listed = literal(list(hashes), ARRAY(String))  # one parameter, however many there are
    return set(session.scalars(select(BundleRow.hash).where(BundleRow.hash == any_(listed))))


def unused(session: Session, kept_for: timedelta, most_bytes: int, spared_for: timedelta) -> dict[str, int]:
    """Hash and bytes of each bundle that no job names and that was not used for `kept_for`, the oldest use first. Where those that
    no job names have more than `most_bytes`, also of the older ones, but for those that were used within `spared_for`."""
    newer = func.sum(BundleRow.size).over(order_by=(BundleRow.used_at.desc(), BundleRow.hash))
    unnamed = select(BundleRow.hash, BundleRow.size, BundleRow.used_at, newer.label("total")).where(_UNNAMED).subquery()
    now = func.clock_timestamp()
    is_over = (unnamed.c.total > most_bytes) & (unnamed.c.used_at < now - spared_for)
    found = select(unnamed.c.hash, unnamed.c.size).where((unnamed.c.used_at < now - kept_for) | is_over)
    return {hash: size for hash, size in session.execute(found.order_by(unnamed.c.used_at, unnamed.c.hash))}


def remove_unused(session: Session, hash: str, spared_for: timedelta) -> None:
    """Remove the row of a bundle, unless a transaction uses it now, a job names it, or it was used within `spared_for`.

    Jobs are looked at in a statement of its own: it sees those that were committed before the row was locked."""
    is_old = BundleRow.used_at < func.clock_timestamp() - spared_for
    locked = select(BundleRow.hash).where(BundleRow.hash == hash, is_old).with_for_update(skip_locked=True)
    if session.scalar(locked) is not None:
        session.execute(delete(BundleRow).where(BundleRow.hash == hash, _UNNAMED))

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.views.models import SavedViewRow


def own(session: Session, user_id: UUID, place: str) -> list[SavedViewRow]:
    mine = select(SavedViewRow).where(SavedViewRow.user_id == user_id, SavedViewRow.place == place)
    return list(session.scalars(mine.order_by(SavedViewRow.name)))


def shared_by_others(session: Session, user_id: UUID, place: str, most: int) -> list[SavedViewRow]:
    theirs = select(SavedViewRow).where(SavedViewRow.shared, SavedViewRow.place == place, SavedViewRow.user_id != user_id)
    return list(session.scalars(theirs.order_by(SavedViewRow.name, SavedViewRow.id).limit(most)))


def readable(session: Session, user_id: UUID, view_id: UUID) -> SavedViewRow | None:
    """The view, if it is the user's own or shared."""
    may_read = or_(SavedViewRow.user_id == user_id, SavedViewRow.shared)
    return session.scalar(select(SavedViewRow).where(SavedViewRow.id == view_id, may_read))


def count(session: Session, user_id: UUID) -> int:
    return session.scalar(select(func.count()).select_from(SavedViewRow).where(SavedViewRow.user_id == user_id)) or 0


def save(session: Session, user_id: UUID, place: str, name: str, state: dict[str, Any], shared: bool) -> SavedViewRow:
    """Two requests that save the same name at once leave one row, that of the later."""
    new = insert(SavedViewRow).values(user_id=user_id, place=place, name=name, state=state, shared=shared)
    statement = new.on_conflict_do_update(
        index_elements=[SavedViewRow.user_id, SavedViewRow.place, SavedViewRow.name],
        set_={"state": new.excluded.state, "shared": new.excluded.shared, "updated_at": func.now()},
    )
    view_id = session.scalar(statement.returning(SavedViewRow.id))
    return session.scalars(select(SavedViewRow).where(SavedViewRow.id == view_id)).one()

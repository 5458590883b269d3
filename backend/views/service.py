"""Saved views and their rights: the owner changes a view, others read it if it is shared, and for the rest it does not exist."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from backend.users.service import Caller
from backend.views import repository
from backend.views.models import SavedViewRow
from backend.views.schemas import SaveView
from gradstream.api.views import SavedView, SavedViews, ViewPlace
from gradstream.errors import Conflict, Denied, NotFound

MOST_OWN = 200
"""Views of one user."""
MOST_SHARED = 500
"""Views of others in one list."""


def views(session: Session, caller: Caller, place: ViewPlace) -> SavedViews:
    rows = repository.own(session, caller.user_id, place)
    rows += repository.shared_by_others(session, caller.user_id, place, MOST_SHARED)
    return SavedViews(items=[_shown(row, caller) for row in rows])


def view(session: Session, caller: Caller, view_id: UUID) -> SavedView:
    """Raises: NotFound."""
    return _shown(_find(session, caller, view_id), caller)


def save(session: Session, caller: Caller, body: SaveView) -> SavedView:
    """Raises: Conflict: the user has too many views."""
    state = body.state.model_dump(mode="json")
    row = repository.save(session, caller.user_id, body.place, body.name, state, body.shared)
    if repository.count(session, caller.user_id) > MOST_OWN:
        raise Conflict(f"You have {MOST_OWN} saved views, which is the limit. Delete one first.")
    return _shown(row, caller)


def delete(session: Session, caller: Caller, view_id: UUID) -> None:
    """Raises: NotFound. Denied: another user owns it."""
    row = _find(session, caller, view_id)
    if row.user_id != caller.user_id:
        raise Denied(f"{row.name} belongs to {row.owner.name}, who alone can delete it.")
    session.delete(row)


def _find(session: Session, caller: Caller, view_id: UUID) -> SavedViewRow:
    row = repository.readable(session, caller.user_id, view_id)
    if row is None:
        raise NotFound(f"There is no view {view_id} that you can see. Its owner may have deleted it, or no longer shares it.")
    return row


def _shown(row: SavedViewRow, caller: Caller) -> SavedView:
    plain = {field: getattr(row, field) for field in ("id", "place", "name", "shared", "state", "created_at", "updated_at")}
    return SavedView(**plain, owner=row.owner.name, mine=row.user_id == caller.user_id)

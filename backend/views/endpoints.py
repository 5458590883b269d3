from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, status

from backend.db import SessionDep
from backend.users.auth import CallerDep
from backend.views import service
from backend.views.schemas import SaveView
from gradstream.api.views import SavedView, SavedViews, ViewPlace

router = APIRouter(prefix="/views", tags=["views"])


@router.get("", operation_id="listViews")
def list_views(
    session: SessionDep, caller: CallerDep, place: Annotated[ViewPlace, Query(description="The page that they are of")]
) -> SavedViews:
    """The caller's saved views of a page, and those that other users share."""
    return service.views(session, caller, place)


@router.put("", operation_id="saveView")
def save_view(body: SaveView, session: SessionDep, caller: CallerDep) -> SavedView:
    """Save a view. It replaces the caller's own of the same place and name, whose id stays. Safe to repeat."""
    return service.save(session, caller, body)


@router.get("/{id}", operation_id="getView")
def get_view(id: UUID, session: SessionDep, caller: CallerDep) -> SavedView:
    """A view of the caller's own, or a shared one."""
    return service.view(session, caller, id)


@router.delete("/{id}", operation_id="deleteView", status_code=status.HTTP_204_NO_CONTENT)
def delete_view(id: UUID, session: SessionDep, caller: CallerDep) -> None:
    """Delete a view of the caller's own."""
    service.delete(session, caller, id)

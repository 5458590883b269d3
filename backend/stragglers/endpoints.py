from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from backend.platform import PlatformDep
from backend.stragglers import service
from gradstream.api.stragglers import Stragglers

router = APIRouter(prefix="/jobs/{id}/stragglers", tags=["jobs"])


@router.get("", operation_id="getStragglers")
def stragglers(id: UUID, platform: PlatformDep) -> Stragglers:
    """Slow workers of the live attempt: since when, why, what they cost in time, and what would help, with the predicted gain.

    Reads the stored times of all pushes, so ask less often than for the overview."""
    with platform.database.transaction(snapshot=True) as session:
        return service.stragglers(session, id)

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.bundles.models import BundleRow


def get(session: Session, hash: str) -> BundleRow | None:
    return session.get(BundleRow, hash)


def enter(session: Session, *, hash: str, size: int, files: list[dict[str, Any]], user_id: UUID) -> None:
    """Does nothing if it is there already: the same hash is the same bundle."""
    row = {"hash": hash, "size": size, "files": files, "user_id": user_id}
    session.execute(insert(BundleRow).values(row).on_conflict_do_nothing())

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, Index, UniqueConstraint, func, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from backend.db import Base
from backend.users.models import UserRow


class SavedViewRow(Base):
    __tablename__ = "saved_views"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    owner: Mapped[UserRow] = relationship(lazy="joined", innerjoin=True)
    place: Mapped[str]
    """A `ViewPlace`."""
    name: Mapped[str]
    state: Mapped[dict[str, Any]]
    """A `ChartLayout` or a `PageQuery`, by its place."""
    shared: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())

    __table_args__ = (
        UniqueConstraint("user_id", "place", "name"),
        Index("ix_saved_views_shared", "place", "name", postgresql_where=text("shared")),
    )

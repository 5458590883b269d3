from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from backend.db import Base


class BundleRow(Base):
    __tablename__ = "bundles"

    hash: Mapped[str] = mapped_column(primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    files: Mapped[list[dict[str, Any]]]
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    used_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """When somebody last sent it, looked at it or submitted a job with it; to the minute."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from backend.db import Base


class LogChunkRow(Base):
    __tablename__ = "log_chunks"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    process_id: Mapped[UUID] = mapped_column(ForeignKey("processes.id", ondelete="CASCADE"), index=True)
    offset: Mapped[int] = mapped_column(BigInteger)
    time: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    text: Mapped[str]

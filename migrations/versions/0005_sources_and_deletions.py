"""job files as they were sent; which jobs were deleted lately"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("source", sa.String(), nullable=True))
    op.add_column("jobs", sa.Column("overrides", postgresql.JSONB(), nullable=False, server_default="[]"))
    op.alter_column("jobs", "overrides", server_default=None)
    op.create_table(
        "deleted_jobs",
        sa.Column("transaction", sa.BigInteger(), server_default=sa.text("pg_current_xact_id()::text::bigint"), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("transaction", "id", name=op.f("pk_deleted_jobs")),
    )
    op.create_index(op.f("ix_deleted_jobs_at"), "deleted_jobs", ["at"])


def downgrade() -> None:
    op.drop_table("deleted_jobs")
    op.drop_column("jobs", "overrides")
    op.drop_column("jobs", "source")

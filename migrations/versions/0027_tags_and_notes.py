"""tags and notes of jobs, and archived jobs"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0027"
down_revision: str | None = "0026"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("tags", postgresql.JSONB(), server_default="[]", nullable=False))
    op.add_column("jobs", sa.Column("note", sa.String(), server_default="", nullable=False))
    op.add_column("jobs", sa.Column("archived", sa.Boolean(), server_default=sa.false(), nullable=False))
    for column in ("tags", "note", "archived"):
        op.alter_column("jobs", column, server_default=None)
    op.create_index("ix_jobs_by_tag", "jobs", ["tags"], postgresql_using="gin")


def downgrade() -> None:
    op.drop_index("ix_jobs_by_tag", "jobs")
    for column in ("archived", "note", "tags"):
        op.drop_column("jobs", column)

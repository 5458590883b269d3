"""nodes that jobs are kept away from; when a node has heard of a process"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("nodes", sa.Column("trouble", sa.String(), nullable=True))
    op.add_column("nodes", sa.Column("trouble_since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("nodes", sa.Column("troubles", sa.Integer(), server_default="0", nullable=False))
    op.add_column("nodes", sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("processes", sa.Column("told_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("processes", sa.Column("told", sa.Integer(), server_default="0", nullable=False))
    op.add_column("processes", sa.Column("heard_at", sa.DateTime(timezone=True), nullable=True))
    op.alter_column("nodes", "troubles", server_default=None)
    op.alter_column("processes", "told", server_default=None)


def downgrade() -> None:
    for column in ("heard_at", "told", "told_at"):
        op.drop_column("processes", column)
    for column in ("retry_at", "troubles", "trouble_since", "trouble"):
        op.drop_column("nodes", column)

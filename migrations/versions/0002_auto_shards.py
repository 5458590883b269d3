"""what roles.server.count: auto has come to"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("shards", sa.Integer(), nullable=True))
    op.add_column("jobs", sa.Column("shards_reason", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "shards_reason")
    op.drop_column("jobs", "shards")

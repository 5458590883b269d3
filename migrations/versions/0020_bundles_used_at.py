"""bundles know when they were last asked for, so that those that nobody needs can go"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0020"
down_revision: str | None = "0019"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    now = sa.text("now()")
    op.add_column("bundles", sa.Column("used_at", sa.DateTime(timezone=True), server_default=now, nullable=False))


def downgrade() -> None:
    op.drop_column("bundles", "used_at")

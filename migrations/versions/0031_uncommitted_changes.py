"""changes of the code that were not committed"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0031"
down_revision: str | None = "0030"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("uncommitted", postgresql.JSONB(), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "uncommitted")

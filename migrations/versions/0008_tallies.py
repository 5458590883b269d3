"""how often each value is in a block of a metric"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("metric_blocks", sa.Column("tally", sa.LargeBinary(), nullable=True))
    op.add_column("metric_series", sa.Column("tally", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("metric_series", "tally")
    op.drop_column("metric_blocks", "tally")

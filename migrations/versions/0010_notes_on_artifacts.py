"""what there is to say of an artifact: the evaluation of the best model"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("artifacts", sa.Column("note", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("artifacts", "note")

"""tokens that let machines join, tokens that expire, and the machine behind a node's name"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("api_tokens", sa.Column("kind", sa.String(), server_default="api", nullable=False))
    op.add_column("api_tokens", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("nodes", sa.Column("machine", sa.String(), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM api_tokens WHERE kind <> 'api'")
    op.drop_column("nodes", "machine")
    op.drop_column("api_tokens", "expires_at")
    op.drop_column("api_tokens", "kind")

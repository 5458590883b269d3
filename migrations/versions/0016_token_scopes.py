"""the scope of API tokens"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("api_tokens", sa.Column("scope", sa.String(), nullable=True))
    op.execute("UPDATE api_tokens SET scope = 'full' WHERE kind = 'api'")


def downgrade() -> None:
    # without the column every API token may do everything, which those that go were never given
    op.execute("DELETE FROM api_tokens WHERE scope IS NOT NULL AND scope <> 'full'")
    op.drop_column("api_tokens", "scope")

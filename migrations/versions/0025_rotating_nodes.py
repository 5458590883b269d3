"""nodes that change their credential: since when, and the hash of the next one, which counts beside the old one"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0025"
down_revision: str | None = "0024"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("nodes", sa.Column("rotating_since", sa.DateTime(timezone=True), nullable=True))
    op.add_column("nodes", sa.Column("next_credential_hash", sa.LargeBinary(), nullable=True))
    op.create_unique_constraint(op.f("uq_nodes_next_credential_hash"), "nodes", ["next_credential_hash"])


def downgrade() -> None:
    op.drop_column("nodes", "next_credential_hash")
    op.drop_column("nodes", "rotating_since")

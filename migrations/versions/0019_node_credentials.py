"""a credential for each node, join tokens that are for a number of machines, and who joined by which token"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0019"
down_revision: str | None = "0018"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("api_tokens", sa.Column("uses", sa.Integer(), nullable=True))
    op.add_column("api_tokens", sa.Column("used", sa.Integer(), server_default="0", nullable=False))
    op.execute("UPDATE api_tokens SET uses = 1 WHERE kind = 'join'")
    op.add_column("nodes", sa.Column("credential_hash", sa.LargeBinary(), nullable=True))
    op.add_column("nodes", sa.Column("joined_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("nodes", sa.Column("joined_with", sa.String(), nullable=True))
    # what an agent kept to be told from others becomes its secret; one of two names of a folder is left without
    op.execute("""
        UPDATE nodes SET credential_hash = sha256(convert_to(machine, 'UTF8')) WHERE id IN (
            SELECT DISTINCT ON (machine) id FROM nodes WHERE machine IS NOT NULL AND removed_at IS NULL
            ORDER BY machine, last_seen_at DESC
        )
    """)
    op.create_unique_constraint(op.f("uq_nodes_credential_hash"), "nodes", ["credential_hash"])
    op.drop_column("nodes", "machine")


def downgrade() -> None:
    op.add_column("nodes", sa.Column("machine", sa.String(), nullable=True))
    op.drop_constraint(op.f("uq_nodes_credential_hash"), "nodes", type_="unique")
    for column in ("joined_with", "joined_at", "credential_hash"):
        op.drop_column("nodes", column)
    op.drop_column("api_tokens", "used")
    op.drop_column("api_tokens", "uses")

"""jobs of one workload, and of one bundle, are found without a look at all others"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    entrypoint = sa.text("((spec -> 'workload'::text) ->> 'entrypoint'::text)")
    op.create_index("ix_jobs_by_entrypoint", "jobs", [entrypoint, "created_at"])
    op.create_index("ix_jobs_by_bundle", "jobs", ["bundle", "created_at"])


def downgrade() -> None:
    op.drop_index("ix_jobs_by_bundle", "jobs")
    op.drop_index("ix_jobs_by_entrypoint", "jobs")

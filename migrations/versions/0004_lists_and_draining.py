"""lists of jobs sorted by anything that they show; nodes that drain"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

MEASURED = ("accuracy", "loss", "samples_per_second", "mean_staleness")
SORTED = ("name", "status", "strategy", "workers", "priority", *MEASURED)

# What earlier versions have folded into `progress`, as `backend.progress.state.figures` reads it.
FILL = """
UPDATE jobs SET
    accuracy = (progress -> 'eval' ->> 'accuracy')::float8,
    loss = (SELECT avg(value::float8) FROM jsonb_each_text(coalesce(progress -> 'loss', '{}')) AS last(rank, value)),
    samples_per_second = (SELECT sum(value::float8) FROM jsonb_each_text(coalesce(progress -> 'rate', '{}')) AS last(rank, value)),
    mean_staleness = (progress ->> 'staleness_sum')::float8 / nullif((progress ->> 'staleness_count')::float8, 0)
"""


def upgrade() -> None:
    op.add_column("jobs", sa.Column("workers", sa.Integer(), nullable=True))
    op.execute("UPDATE jobs SET workers = coalesce((spec #>> '{roles,worker,count}')::int, 1)")
    op.alter_column("jobs", "workers", nullable=False)
    for column in MEASURED:
        op.add_column("jobs", sa.Column(column, sa.Float(), nullable=True))
    op.execute(FILL)
    for column in SORTED:
        op.create_index(f"ix_jobs_by_{column}", "jobs", [column, "created_at", "id"])
    op.add_column("nodes", sa.Column("draining_since", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("nodes", "draining_since")
    for column in SORTED:
        op.drop_index(f"ix_jobs_by_{column}", table_name="jobs")
    for column in (*MEASURED, "workers"):
        op.drop_column("jobs", column)

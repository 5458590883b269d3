"""parts of GPUs, which processes share; the torch of nodes"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0033"
down_revision: str | None = "0032"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_NODE_BITS, _TICKS = 20, 60


def upgrade() -> None:
    op.add_column("nodes", sa.Column("torch", postgresql.JSONB(), nullable=True))
    nothing = sa.text("'{}'::nummultirange")
    op.add_column("processes", sa.Column("gpu_ticks", postgresql.NUMMULTIRANGE(), nullable=False, server_default=nothing))
    op.add_column("processes", sa.Column("gpu_share", sa.Integer(), nullable=False, server_default="1"))
    connection = op.get_bind()
    on_gpus = connection.execute(sa.text("SELECT id, node_id, gpu FROM processes WHERE gpu IS NOT NULL")).all()
    write = sa.text("UPDATE processes SET gpu_ticks = CAST(:ticks AS nummultirange) WHERE id = :id")
    for id, node_id, gpu in on_gpus:
        first = (node_id.int << _NODE_BITS) + gpu * _TICKS
        connection.execute(write, {"id": id, "ticks": f"{{[{first},{first + _TICKS})}}"})
    op.alter_column("processes", "gpu_ticks", server_default=None)
    op.alter_column("processes", "gpu_share", server_default=None)
    op.drop_index("uq_processes_gpu", table_name="processes")
    op.drop_column("processes", "gpu")
    op.create_exclude_constraint(
        "ex_processes_gpu_ticks", "processes", ("gpu_ticks", "&&"), using="gist", where=sa.text("ended_at IS NULL")
    )


def downgrade() -> None:
    op.drop_column("nodes", "torch")
    op.drop_constraint("ex_processes_gpu_ticks", "processes")
    op.add_column("processes", sa.Column("gpu", sa.Integer(), nullable=True))
    op.execute(f"UPDATE processes SET gpu = div(lower(gpu_ticks) % {1 << _NODE_BITS}, {_TICKS}) WHERE NOT isempty(gpu_ticks)")
    op.drop_column("processes", "gpu_share")
    op.drop_column("processes", "gpu_ticks")
    op.create_index("uq_processes_gpu", "processes", ["node_id", "gpu"], unique=True, postgresql_where=sa.text("ended_at IS NULL"))

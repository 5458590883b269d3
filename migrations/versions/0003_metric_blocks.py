"""metrics as batches and blocks

What has been stored stays: each batch becomes the payload that it was, a portion at a time. Blocks are made from them by the
controller when it runs again; until then charts read the batches."""

import json
import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROWS = 20_000
"""Points in memory at a time."""
_ZSTD = pa.Codec("zstd", compression_level=3)


def upgrade() -> None:
    op.add_column("metric_batches", sa.Column("payload", sa.LargeBinary(), nullable=True))
    op.add_column("metric_batches", sa.Column("totals", sa.LargeBinary(), nullable=True))
    op.create_table(
        "metric_series",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("folded", sa.BigInteger(), nullable=False),
        sa.Column("summary", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_metric_series_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_series")),
        sa.UniqueConstraint(
            "job_id", "name", "attempt", "source", "rank", name=op.f("uq_metric_series_job_id_name_attempt_source_rank")
        ),
    )
    op.create_table(
        "metric_blocks",
        sa.Column("series_id", sa.BigInteger(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["series_id"], ["metric_series.id"], name=op.f("fk_metric_blocks_series_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("series_id", "level", "number", name=op.f("pk_metric_blocks")),
    )
    op.create_table(
        "metric_stores",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("folded", sa.BigInteger(), nullable=False),
        sa.Column("waiting", sa.BigInteger(), nullable=False),
        sa.Column("forgotten_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_metric_stores_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_metric_stores")),
    )
    for table, column in (("metric_batches", "payload"), ("metric_blocks", "data")):  # they are compressed as they are
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")
    _pack()
    op.alter_column("metric_batches", "payload", nullable=False)
    op.alter_column("metric_batches", "totals", nullable=False)
    op.drop_index("ix_metric_points_series", table_name="metric_points")
    op.drop_table("metric_points")


def _pack() -> None:
    """Points into their batches, with the series that they make up."""
    bind = op.get_bind()
    bind.execute(sa.text("SET LOCAL statement_timeout = 0"))
    empty = {"payload": _compressed("[]"), "totals": b""}
    bind.execute(sa.text("UPDATE metric_batches SET payload = :payload, totals = :totals"), empty)
    points = _in_portions(
        bind,
        """
        SELECT b.job_id, b.seq, b.attempt, p.source, p.name, p.rank, p.step, p.samples, p.version, p.time, p.value
        FROM metric_batches b JOIN metric_points p USING (job_id, seq) ORDER BY b.job_id, b.seq, p.place
    """,
    )
    for job_id, of_job in groupby(points, attrgetter("job_id")):
        counts: dict[tuple[int, str, str, int], int] = {}
        waiting, changed = 0, list[dict[str, Any]]()
        for seq, batch in groupby(of_job, attrgetter("seq")):
            rows = list(batch)
            keys = dict.fromkeys((row.attempt, row.source, row.name, row.rank) for row in rows)
            for row in rows:
                key = (row.attempt, row.source, row.name, row.rank)
                counts[key] = counts.get(key, 0) + 1
            totals = b"".join(counts[key].to_bytes(8, "little") for key in keys)
            changed.append({"job": job_id, "at": seq, "payload": _payload(rows), "totals": totals})
            waiting += len(rows)
            if len(changed) == 500:
                _update(bind, changed)
        _update(bind, changed)
        series = [
            {"job": job_id, "attempt": attempt, "source": source, "name": name, "rank": rank, "count": count}
            for (attempt, source, name, rank), count in counts.items()
        ]
        bind.execute(
            sa.text("""
                INSERT INTO metric_series (job_id, attempt, source, name, rank, count, folded)
                VALUES (:job, :attempt, :source, :name, :rank, :count, 0)
            """),
            series,
        )
        bind.execute(
            sa.text("INSERT INTO metric_stores (job_id, folded, waiting) VALUES (:job, 0, :waiting)"),
            {"job": job_id, "waiting": waiting},
        )


def _update(bind: sa.Connection, changed: list[dict[str, Any]]) -> None:
    if changed:
        statement = "UPDATE metric_batches SET payload = :payload, totals = :totals WHERE job_id = :job AND seq = :at"
        bind.execute(sa.text(statement), changed)
        changed.clear()


def _in_portions(bind: sa.Connection, statement: str) -> Iterator[Any]:
    yield from bind.execute(sa.text(statement), execution_options={"yield_per": ROWS})


def _payload(rows: Sequence[Any]) -> bytes:
    records = [[row.time, row.rank, row.step, row.samples, row.version, row.name, _writable(row.value)] for row in rows]
    return _compressed(json.dumps(records, separators=(",", ":")))


def _compressed(text: str) -> bytes:
    raw = text.encode()
    return len(raw).to_bytes(4, "little") + bytes(_ZSTD.compress(raw, asbytes=True))


def _writable(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def downgrade() -> None:
    op.create_table(
        "metric_points",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_metric_points_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "seq", "place", name=op.f("pk_metric_points")),
    )
    _spread()
    op.create_index("ix_metric_points_series", "metric_points", ["job_id", "name", "seq"], unique=False)
    op.drop_table("metric_stores")
    op.drop_table("metric_blocks")
    op.drop_table("metric_series")
    op.drop_column("metric_batches", "totals")
    op.drop_column("metric_batches", "payload")


def _spread() -> None:
    """Each batch into a row per point."""
    bind = op.get_bind()
    bind.execute(sa.text("SET LOCAL statement_timeout = 0"))
    insert = sa.text("""
        INSERT INTO metric_points (job_id, seq, place, source, name, rank, step, samples, version, time, value)
        VALUES (:job, :at, :place, :source, :name, :rank, :step, :samples, :version, :time, :value)
    """)
    for batch in _in_portions(bind, "SELECT job_id, seq, source, payload FROM metric_batches"):
        raw = bytes(_ZSTD.decompress(batch.payload[4:], int.from_bytes(batch.payload[:4], "little"), asbytes=True))
        label = batch.source.rpartition(".")[0] or batch.source
        rows = [
            {
                "job": batch.job_id,
                "at": batch.seq,
                "source": label,
                "name": name,
                "value": float(value),
                "time": when,
                "rank": rank,
                "step": step,
                "samples": samples,
                "version": version,
            }
            for when, rank, step, samples, version, *named in json.loads(raw)
            for name, value in zip(named[::2], named[1::2], strict=True)
        ]
        if rows:
            bind.execute(insert, [{**row, "place": place} for place, row in enumerate(rows)])

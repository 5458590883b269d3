"""the metric plane/asked_again becomes plane/retransmissions, in series, stored batches and the sentences of events

Files of ended jobs stay as they were stored."""

from collections.abc import Sequence

import pyarrow as pa
import sqlalchemy as sa
from alembic import op

revision: str = "0023"
down_revision: str | None = "0022"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ASKED_AGAIN, RETRANSMISSIONS = "plane/asked_again", "plane/retransmissions"
_ZSTD = pa.Codec("zstd", compression_level=3)
_HEAD = 4
"""Bytes before a compressed batch that hold the length of what was compressed."""


def upgrade() -> None:
    _rename(ASKED_AGAIN, RETRANSMISSIONS)


def downgrade() -> None:
    _rename(RETRANSMISSIONS, ASKED_AGAIN)


def _rename(old: str, new: str) -> None:
    connection = op.get_bind()
    names = {"old": old, "new": new}
    batches = connection.execute(
        sa.text(
            "SELECT job_id, seq, payload FROM metric_batches AS batch WHERE EXISTS ("
            "SELECT FROM metric_series AS series WHERE series.job_id = batch.job_id AND series.attempt = batch.attempt "
            "AND series.name = :old AND starts_with(batch.source || '.', series.source || '.'))"
        ),
        names,
    )
    change = sa.text("UPDATE metric_batches SET payload = :payload WHERE job_id = :job AND seq = :seq")
    for job_id, seq, payload in batches.all():
        points = _unpack(payload).replace(f'"{old}"'.encode(), f'"{new}"'.encode())
        connection.execute(change, {"payload": _pack(points), "job": job_id, "seq": seq})
    connection.execute(sa.text("UPDATE metric_series SET name = :new WHERE name = :old"), names)
    in_sentences = "UPDATE events SET message = replace(message, :old, :new) WHERE kind = 'warning' AND strpos(message, :old) > 0"
    connection.execute(sa.text(in_sentences), names)


def _unpack(kept: bytes) -> bytes:
    return bytes(_ZSTD.decompress(kept[_HEAD:], int.from_bytes(kept[:_HEAD], "little"), asbytes=True))


def _pack(points: bytes) -> bytes:
    return len(points).to_bytes(_HEAD, "little") + bytes(_ZSTD.compress(points, asbytes=True))

"""stored words: of the ledger, of shared memory and of process summaries

In the ledger, buffered becomes deferred, undone rolled_back, and silent starved. `worker/no_room` becomes
`worker/shared_memory_shortfall`. They are renamed in the names of metrics (series, stored batches, sentences of events), in the
progress of jobs, and in the sentence about the pushes that a return to a checkpoint costs. Checkpoints stay as they were written:
a server that loads one knows the older word. Files of ended jobs stay as they were stored."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from alembic import op

revision: str = "0024"
down_revision: str | None = "0023"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

OUTCOMES = {"buffered": "deferred", "undone": "rolled_back"}
METRICS = {
    **{f"ledger/{old}": f"ledger/{new}" for old, new in OUTCOMES.items()},
    "ledger/silent": "ledger/starved",
    "worker/no_room": "worker/shared_memory_shortfall",
}
PROGRESS = {"silent": "starved", "no_room": "shared_memory_shortfalls", "standings": "summaries"}
_PORTION = 500
"""Batches that are in memory at a time."""
_ZSTD = pa.Codec("zstd", compression_level=3)
_HEAD = 4
"""Bytes before a compressed batch that hold the length of what was compressed."""


def upgrade() -> None:
    _rename_metrics(METRICS)
    _rename_in_ledgers(OUTCOMES)
    _rename_in_progress(PROGRESS)
    _reword("undone", "rolled back")


def downgrade() -> None:
    _rename_metrics(_turned(METRICS))
    _rename_in_progress(_turned(PROGRESS))
    _rename_in_ledgers(_turned(OUTCOMES))
    _reword("rolled back", "undone")


def _turned(words: Mapping[str, str]) -> dict[str, str]:
    return {new: old for old, new in words.items()}


def _rename_metrics(metrics: Mapping[str, str]) -> None:
    _rename_in_batches(metrics)
    for old, new in metrics.items():
        names = {"old": old, "new": new}
        op.get_bind().execute(sa.text("UPDATE metric_series SET name = :new WHERE name = :old"), names)
        in_sentences = (
            "UPDATE events SET message = replace(message, :old, :new) WHERE kind = 'warning' AND strpos(message, :old) > 0"
        )
        op.get_bind().execute(sa.text(in_sentences), names)


def _rename_in_progress(words: Mapping[str, str]) -> None:
    for old, new in words.items():
        op.execute(f"UPDATE jobs SET progress = {_renamed('progress', {old: new})} WHERE jsonb_exists(progress, '{old}')")


def _rename_in_batches(metrics: Mapping[str, str]) -> None:
    change = sa.text("UPDATE metric_batches SET payload = :payload WHERE job_id = :job AND seq = :seq")
    for job_id, seq, payload in _batches(list(metrics)):
        points = _unpack(payload)
        for old, new in metrics.items():
            points = points.replace(f'"{old}"'.encode(), f'"{new}"'.encode())
        op.get_bind().execute(change, {"payload": _pack(points), "job": job_id, "seq": seq})


def _batches(names: list[str]) -> Iterator[tuple[Any, int, bytes]]:
    """Yield the batches that may hold a metric of these names, job by job."""
    connection = op.get_bind()
    jobs = connection.scalars(sa.text("SELECT DISTINCT job_id FROM metric_series WHERE name = ANY(:names)"), {"names": names}).all()
    portion = sa.text(
        "SELECT job_id, seq, payload FROM metric_batches AS batch WHERE job_id = :job AND seq > :after AND EXISTS ("
        "SELECT FROM metric_series AS series WHERE series.job_id = batch.job_id AND series.attempt = batch.attempt "
        "AND series.name = ANY(:names) AND starts_with(batch.source || '.', series.source || '.')) ORDER BY seq LIMIT :portion"
    )
    for job_id in jobs:
        after = -1
        while rows := connection.execute(portion, {"job": job_id, "after": after, "names": names, "portion": _PORTION}).all():
            yield from ((row.job_id, row.seq, bytes(row.payload)) for row in rows)
            after = rows[-1].seq


def _rename_in_ledgers(outcomes: Mapping[str, str]) -> None:
    """Rename the count of pushes by attempt, and the outcomes in the account of each worker, in progress of the older form."""
    back = {old: new for old, new in outcomes.items() if "undone" in (old, new)}
    standings = _renamed("progress -> 'standings'", back)
    op.execute(
        f"UPDATE jobs SET progress = jsonb_set(progress, '{{standings}}', {standings}) "
        f"WHERE jsonb_exists_any(progress -> 'standings', ARRAY[{_quoted(back)}])"
    )
    op.execute(
        "UPDATE jobs SET progress = jsonb_set(progress, '{standings,ledger}', ("
        f"SELECT jsonb_object_agg(rank, {_renamed('account', outcomes)}) "
        "FROM jsonb_each(progress #> '{standings,ledger}') AS accounts(rank, account))) "
        f"WHERE EXISTS (SELECT FROM jsonb_path_query(progress, '$.standings.ledger.*') AS account "
        f"WHERE jsonb_exists_any(account, ARRAY[{_quoted(outcomes)}]))"
    )


def _reword(old: str, new: str) -> None:
    """Only in the platform's own sentence: users' programs may have written the word, too."""
    said = f"regexp_replace(message, '([0-9] pushes are ){old}(: all since )', '\\1{new}\\2')"
    for table in ("events", "jobs", "attempts"):
        op.execute(f"UPDATE {table} SET message = {said} WHERE message ~ '[0-9] pushes are {old}: all since '")


def _renamed(value: str, words: Mapping[str, str]) -> str:
    """SQL for a JSON object with some keys renamed; one that it does not have stays away."""
    for old, new in words.items():
        renamed = f"({value}) - '{old}' || jsonb_build_object('{new}', ({value}) -> '{old}')"
        value = f"CASE WHEN jsonb_exists({value}, '{old}') THEN {renamed} ELSE {value} END"
    return value


def _quoted(words: Mapping[str, str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _unpack(kept: bytes) -> bytes:
    return bytes(_ZSTD.decompress(kept[_HEAD:], int.from_bytes(kept[:_HEAD], "little"), asbytes=True))


def _pack(points: bytes) -> bytes:
    return len(points).to_bytes(_HEAD, "little") + bytes(_ZSTD.compress(points, asbytes=True))

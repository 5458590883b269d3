"""cuts become checkpoints: tables, stored job files, events, and the files of jobs

A job that has not ended resumes from its newest checkpoint as before: the files keep their contents and move to `checkpoints/`.
The files are changed last. If the transaction fails after that, the next run finds them as they should be, and goes on."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa
import yaml
from alembic import context, op

revision: str = "0022"
down_revision: str | None = "0021"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

CUT, CHECKPOINT = "cut", "checkpoint"
SNAPSHOT = "snapshot"


def upgrade() -> None:
    _rename(CUT, CHECKPOINT)
    _rename_in_job_files(SNAPSHOT, CHECKPOINT)


def downgrade() -> None:
    _rename(CHECKPOINT, CUT)
    _rename_in_job_files(CHECKPOINT, SNAPSHOT)


def _rename(old: str, new: str) -> None:
    op.rename_table(f"{old}s", f"{new}s")
    for before, after in ((f"pk_{old}s", f"pk_{new}s"), (f"fk_{old}s_job_id_attempt", f"fk_{new}s_job_id_attempt")):
        op.execute(f"ALTER TABLE {new}s RENAME CONSTRAINT {before} TO {after}")
    for column in ("resumed_{}", "{}", "{}_requested", "{}_requested_at"):
        op.alter_column("attempts", column.format(old), new_column_name=column.format(new))
    op.execute(f"UPDATE {new}s SET manifest = {_renamed('manifest', old, new)} WHERE manifest ? '{old}'")
    op.execute(f"UPDATE files SET path = '{new}s/' || substr(path, {len(old) + 3}) WHERE starts_with(path, '{old}s/')")
    op.execute(f"UPDATE artifacts SET kind = '{new}' WHERE kind = '{old}'")
    _rename_in_events(old, new)
    for folder in _files().glob(f"jobs/*/*/{old}s"):
        _move(folder, folder.with_name(f"{new}s"))


def _rename_in_events(old: str, new: str) -> None:
    """And in messages, only in sentences of the platform: users' programs may have written the word, too."""

    def said(before: str, old: str, new: str) -> str:
        return rf"regexp_replace(message, '({before}){old}(?= [0-9]| of attempt)', '\1{new}')"

    data = _renamed("data", old, new)
    op.execute(f"UPDATE events SET kind = '{new}', data = {data}, message = {said('^|^the last ', old, new)} WHERE kind = '{old}'")
    warned = said("^", old.capitalize(), new.capitalize())
    op.execute(f"UPDATE events SET data = {data}, message = {warned} WHERE kind = 'warning' AND data ? '{old}'")
    inner = _renamed("data -> 'resumed_from'", old, new)
    op.execute(
        f"UPDATE events SET data = jsonb_set(data, '{{resumed_from}}', {inner}) "
        f"WHERE kind = 'attempt' AND jsonb_exists(data -> 'resumed_from', '{old}')"
    )
    after = said("all since |begins from ", old, new)
    for table in ("events", "jobs", "attempts"):
        op.execute(f"UPDATE {table} SET message = {after} WHERE message ~ '(all since|begins from) {old} [0-9]'")


def _rename_in_job_files(old: str, new: str) -> None:
    op.execute(f"UPDATE jobs SET spec = {_renamed('spec', old, new)} WHERE spec ? '{old}'")
    connection = op.get_bind()
    with_source = sa.text("SELECT id, source, overrides FROM jobs WHERE source LIKE :word OR overrides::text LIKE :word")
    change = sa.text("UPDATE jobs SET source = :source, overrides = CAST(:overrides AS jsonb) WHERE id = :id")
    change = change.bindparams(sa.bindparam("overrides", type_=sa.JSON()))
    for job_id, source, overrides in connection.execute(with_source, {"word": f"%{old}%"}).all():
        values = {
            "id": job_id,
            "source": source and _renamed_key(source, old, new),
            "overrides": [_renamed_override(words, old, new) for words in overrides],
        }
        connection.execute(change, values)
    files = _files()
    copies = sa.text("SELECT job_id, name, path FROM artifacts WHERE kind = 'job'")
    for job_id, name, path in connection.execute(copies).all():
        file = files / "jobs" / str(job_id) / path
        if file.is_file():
            content = _renamed_key(file.read_text(), old, new).encode()
            file.with_name(f".{file.name}.new").write_bytes(content)
            file.with_name(f".{file.name}.new").replace(file)
            written = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "job": job_id, "name": name}
            connection.execute(
                sa.text("UPDATE artifacts SET size = :size, sha256 = :sha256 WHERE job_id = :job AND name = :name"), written
            )


def _renamed(value: str, old: str, new: str) -> str:
    """SQL for a JSON object with one key renamed; without that key, as it is."""
    renamed = f"({value}) - '{old}' || jsonb_build_object('{new}', {value} -> '{old}')"
    return f"CASE WHEN jsonb_exists({value}, '{old}') THEN {renamed} ELSE {value} END"


def _renamed_key(text: str, old: str, new: str) -> str:
    """The text of a job file with one of its own keys renamed; a key within a value, such as of the user's `args`, stays."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return text
    if isinstance(node, yaml.MappingNode):
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == old:
                start, end = key.start_mark.index, key.end_mark.index
                return text[:start] + text[start:end].replace(old, new) + text[end:]
    return text


def _renamed_override(words: str, old: str, new: str) -> str:
    path, equals, value = words.partition("=")
    first, dot, rest = path.partition(".")
    return f"{first.replace(old, new) if first.strip() == old else first}{dot}{rest}{equals}{value}"


def _files() -> Path:
    """The folder of the file store, from the settings of who migrates."""
    return Path(context.config.attributes["files"])


def _move(folder: Path, to: Path) -> None:
    if not to.exists():
        folder.rename(to)
        return
    for inner in folder.iterdir():
        inner.rename(to / inner.name)
    folder.rmdir()

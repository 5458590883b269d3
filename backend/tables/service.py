"""Embedding tables of a job, as the platform's stored files tell of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from uuid import UUID

from backend.artifacts import stored_rows
from backend.artifacts.stored_rows import CheckpointedRows, KeptExports
from backend.jobs import service as jobs
from backend.platform import Platform
from backend.tables import messages
from backend.tables.schemas import TableKeys
from gradstream.api.tables import KeyCheckpoint, KeyExport, TableKey
from gradstream.errors import Invalid, NotFound
from gradstream.process.lookup.in_checkpoint import find_in_checkpoint
from gradstream.process.lookup.in_export import ExportSearch, KeyInExports
from gradstream.process.lookup.keys import hashed_key, parse_key, shard_of
from gradstream.process.lookup.stored_tensors import Damaged, FileCheck
from gradstream.process.saving.exports import ExportManifest
from gradstream.spec import JobSpec
from gradstream.spec.tables import DEFAULT, TableSpec

MAX_SEARCHED = 16
"""Tables that are searched for one key, if none is named."""
_check = FileCheck()


@dataclass(frozen=True, slots=True)
class WantedKey:
    """A key, or a text that is hashed with a field; and its table."""

    key: str | None
    text: str | None
    field: str | None
    table: str | None

    def __post_init__(self) -> None:
        if (self.key is None) == (self.text is None):
            raise Invalid("Give either a key or a text; a text is hashed to its key.")
        if self.field is not None and self.text is None:
            raise Invalid("A field belongs to a text; a key stands for itself.")

    def key_in(self, table: str) -> int:
        """Raises: Invalid."""
        if self.key is not None:
            return parse_key(self.key)
        assert self.text is not None, "one of the two is given"
        return hashed_key(self.text, self.field if self.field is not None else table)


@dataclass(frozen=True, slots=True)
class _StoredTables:
    """Files of a job that have rows, as Postgres listed them at one moment."""

    spec: JobSpec
    exported: KeptExports
    checkpointed: CheckpointedRows | None

    @property
    def names(self) -> tuple[list[int], tuple[int, int] | None]:
        """Numbers of the exports, and the checkpoint."""
        newest = self.checkpointed
        return sorted(self.exported.manifests), (newest.attempt, newest.number) if newest else None


def look_up_key(platform: Platform, job_id: UUID, wanted: WantedKey) -> TableKeys:
    """Look a key up in the newest export and the newest checkpoint. The database is not held while files are read.

    Raises: NotFound: there is no such job or table. Invalid. Damaged: an export is."""
    stored = _list_stored(platform, job_id)
    try:
        found = _search(stored, wanted)
        if all(item.checkpoint.state != "damaged" for item in found.items):
            return found
    except Damaged:
        if (newer := _list_stored(platform, job_id)).names == stored.names:
            raise
        return _search(newer, wanted)  # a newer export or checkpoint has replaced files that were being read
    newer = _list_stored(platform, job_id)
    return found if newer.names == stored.names else _search(newer, wanted)


def _list_stored(platform: Platform, job_id: UUID) -> _StoredTables:
    with platform.database.transaction() as session:
        return _StoredTables(
            jobs.spec_of(jobs.find(session, job_id)),
            stored_rows.kept_exports(session, platform.files, job_id),
            stored_rows.checkpointed_rows(session, platform.files, job_id),
        )


def _search(stored: _StoredTables, wanted: WantedKey) -> TableKeys:
    names, rows = _tables(wanted, stored.exported, stored.spec), (stored.exported, stored.checkpointed)
    return TableKeys(items=[_look_up(*rows, name, wanted.key_in(name), _spec_of(stored.spec, name)) for name in names])


def _tables(wanted: WantedKey, exported: KeptExports, spec: JobSpec) -> list[str]:
    """Raises: NotFound: there is no such table."""
    if not exported.manifests:
        return _tables_without_export(wanted, spec)
    names = sorted(exported.manifests[max(exported.manifests)].exported.tables)
    if not names:
        raise NotFound("The job's model has no embedding tables; its exports have the dense model alone.")
    if wanted.table is None:
        if len(names) > MAX_SEARCHED:
            raise Invalid(f"The job has {len(names)} tables; name one: {_listed(names)}.")
        return names
    if wanted.table not in names:
        close = get_close_matches(wanted.table, names, 1)
        hint = f"Did you mean '{close[0]}'? " if close else ""
        raise NotFound(f"The job has no table '{wanted.table}'. {hint}It has {_listed(names)}.", table=wanted.table)
    return [wanted.table]


def _tables_without_export(wanted: WantedKey, spec: JobSpec) -> list[str]:
    """The job file names some of its tables; the others are in the model's code."""
    if wanted.table is not None:
        return [wanted.table]
    if not (named := sorted(set(spec.tables) - {DEFAULT})):
        raise NotFound("The job has no export yet, and its job file names no table. `gradstream export JOB` asks for an export.")
    return named[:MAX_SEARCHED]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_SEARCHED} more" if len(names) > MAX_SEARCHED else ""
    return ", ".join(names[:MAX_SEARCHED]) + more


def _spec_of(spec: JobSpec, table: str) -> TableSpec:
    return spec.tables.get(table) or spec.tables.get(DEFAULT) or TableSpec()


def _look_up(exported: KeptExports, checkpointed: CheckpointedRows | None, table: str, key: int, spec: TableSpec) -> TableKey:
    there = _in_checkpoint(checkpointed, table, key)
    if not exported.manifests:
        message = "The job has no export yet; `gradstream export JOB` asks for one."
        nothing = {"export": None, "found_in": None, "values": None, "reads": None}
        return TableKey(table=table, key=str(key), state="no_export", message=message, checkpoint=there, **nothing)
    newest = exported.manifests[max(exported.manifests)]
    found = ExportSearch(exported.manifests, exported.find_file, _check).find(table, key)
    return TableKey(
        table=table,
        key=str(key),
        state=found.state,
        message=messages.of_export(found, newest, spec),
        export=_described(exported, newest),
        found_in=found.number,
        values=None if found.values is None else messages.shortest(found.values),
        reads=_reads(found, newest, table),
        checkpoint=there,
    )


def _described(exported: KeptExports, newest: ExportManifest) -> KeyExport:
    return KeyExport(
        number=newest.number,
        attempt=newest.attempt,
        version=newest.exported.version,
        samples=newest.exported.samples,
        passes=newest.exported.passes or None,
        committed_at=exported.committed_at[newest.number],
    )


def _reads(found: KeyInExports, newest: ExportManifest, table: str) -> str:
    described = newest.exported.tables[table]
    if found.state == "row":
        return "row"
    return "zeros" if described.admits or not described.reach else "first_values"


def _in_checkpoint(rows: CheckpointedRows | None, table: str, key: int) -> KeyCheckpoint:
    nothing = dict.fromkeys(("attempt", "number", "updates", "occurrences", "unseen", "shows", "clicks", "score"))
    if rows is None:
        return KeyCheckpoint(state="none", message="There is no checkpoint yet.", **nothing)
    place = {"attempt": rows.attempt, "number": rows.number}
    try:
        found = find_in_checkpoint(rows.copies_of(shard_of(key, rows.servers)), table, key, _check)
    except Damaged as error:
        message = f"{messages.name_of(rows)} is damaged on the platform's disk: {error.message}."
        return KeyCheckpoint(state="damaged", message=message, **nothing | place)
    return KeyCheckpoint(
        state=found.state,
        message=messages.of_checkpoint(found, messages.name_of(rows)),
        updates=found.updates,
        occurrences=found.occurrences,
        unseen=found.unseen,
        shows=found.shows,
        clicks=found.clicks,
        score=found.score,
        **place,
    )

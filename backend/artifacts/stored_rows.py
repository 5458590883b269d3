"""Stored files with rows of embedding tables: those of exports, and those of the newest checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import repository
from backend.artifacts.checkpoints import rested_on
from backend.artifacts.models import CheckpointRow, FileRow
from backend.artifacts.stored_json import read_table_summary
from backend.files import FileStore
from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.errors import NotFound
from gradstream.process.lookup.stored_tensors import SearchedFile
from gradstream.process.saving.checkpoint_names import CheckpointPath, folder_of, shard_part
from gradstream.process.saving.exports import ExportManifest, export_folder
from gradstream.process.saving.table_summary import ShardSummary, is_summary_file


@dataclass(frozen=True, slots=True)
class KeptExports:
    """The committed exports of a job that are kept, and the files of their servers."""

    manifests: Mapping[int, ExportManifest]
    """By number."""
    committed_at: Mapping[int, datetime]
    _places: Mapping[int, int]
    _files: FileStore
    _job: UUID

    def find_file(self, manifest: ExportManifest, name: str) -> SearchedFile:
        """Raises: NotFound."""
        listed = next((file for part in manifest.parts for file in part.files if file.name == name), None)
        if listed is None:
            raise NotFound(f"Export {manifest.number} has no file '{name}'.")
        path = export_folder(self._places[manifest.number]) + name
        return SearchedFile(self._files.of_attempt(self._job, manifest.attempt, path), listed.size, listed.sha256)


@dataclass(frozen=True, slots=True)
class CheckpointedRows:
    """The newest checkpoint of a job, and the files with its rows."""

    attempt: int
    number: int
    servers: int
    _copies: Mapping[str, list[list[SearchedFile]]]

    def copies_of(self, shard: int) -> list[list[SearchedFile]]:
        """Return the files of a shard: those of each earlier checkpoint that this one rests on, the oldest first, then its own."""
        return self._copies.get(shard_part(shard), [])


def kept_exports(session: Session, files: FileStore, job_id: UUID) -> KeptExports:
    rows = [row for row in repository.exports(session, job_id) if row.manifest]
    manifests = {row.number: ExportManifest.model_validate(row.manifest) for row in rows}
    committed_at = {row.number: row.committed_at or row.asked_at for row in rows}
    return KeptExports(manifests, committed_at, {row.number: row.place for row in rows}, files, job_id)


def checkpointed_rows(session: Session, files: FileStore, job_id: UUID) -> CheckpointedRows | None:
    """None: there is no checkpoint yet."""
    newest = next(iter(repository.checkpoints(session, job_id)), None)
    if newest is None:
        return None
    copies: dict[str, dict[tuple[int, int], list[SearchedFile]]] = {}
    for row, at in _files_with_rows(session, newest):
        path = files.of_attempt(job_id, row.attempt, row.path)
        of_part = copies.setdefault(str(at.part), {})
        of_part.setdefault((row.attempt, at.number), []).append(SearchedFile(path, row.size, row.sha256))
    ordered = {part: [of_part[made] for made in sorted(of_part, key=_age)] for part, of_part in copies.items()}
    return CheckpointedRows(newest.attempt, newest.number, newest.manifest["servers"], ordered)


def table_summaries(session: Session, files: FileStore, job_id: UUID) -> tuple[int, list[ShardSummary]] | None:
    """Return the newest attempt that has stored any, and those of its servers, by shard. None: there are none."""
    rows = [row for row in repository.files(session, job_id) if is_summary_file(row.path)]
    if not rows:
        return None
    attempt = max(row.attempt for row in rows)
    paths = [files.of_attempt(job_id, attempt, row.path) for row in rows if row.attempt == attempt]
    return attempt, sorted((read_table_summary(path) for path in paths), key=lambda summary: summary.shard)


def _files_with_rows(session: Session, newest: CheckpointRow) -> list[tuple[FileRow, CheckpointPath]]:
    rested = rested_on(newest.manifest)
    own = folder_of(newest.number)
    found = []
    for row in repository.files(session, newest.job_id):
        needed = (row.attempt, row.path) in rested or (row.attempt == newest.attempt and row.path.startswith(own))
        at = CheckpointPath.parse(row.path)
        if needed and at and at.suffix.startswith(".rows-"):
            found.append((row, at))
    return found


def _age(made: tuple[int, int]) -> tuple[int, bool, int]:
    """Sort attempts and numbers of checkpoints, the oldest first: the last one of an attempt has number 0."""
    attempt, number = made
    return attempt, number == FINAL_CHECKPOINT, number

"""One key in the newest checkpoint: its row with shows and clicks, or its candidate, which exports leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ValidationError

from gradstream.process.lookup.stored_tensors import Damaged, FileCheck, SearchedFile, StoredTensors
from gradstream.spec.tables import ScoreWeights, TableSpec

_METADATA = "rows"


class _RowsMetadata(BaseModel, frozen=True):
    """The metadata of a file of rows."""

    whole: bool
    times: dict[str, int]
    specs: dict[str, TableSpec] = {}


@dataclass(frozen=True, slots=True)
class KeyInCheckpoint:
    state: Literal["row", "candidate", "evicted", "absent"]
    updates: int | None = None
    """Steps of the row."""
    occurrences: int | None = None
    """Occurrences of the candidate so far."""
    unseen: int | None = None
    """Passes of the table since its last push."""
    shows: float | None = None
    clicks: float | None = None
    score: float | None = None
    """None: the table has no scores."""
    spec: TableSpec | None = None


def find_in_checkpoint(copies: Sequence[Sequence[SearchedFile]], table: str, key: int, check: FileCheck) -> KeyInCheckpoint:
    """`copies`: the files of the key's shard, those of each checkpoint that this one rests on, the oldest first, then its own.

    Raises: Damaged."""
    now: int | None = None
    spec: TableSpec | None = None
    for files in reversed(copies):
        opened = [_open(file, check) for file in files]
        for tensors, entry in opened:
            now, spec = entry.times.get(table) if now is None else now, spec or entry.specs.get(table)
            for state, column in (("row", "keys"), ("candidate", "waiting")):
                place = tensors.find(f"{table}/{column}", key)
                if place is not None:
                    passes = (now or 0) - entry.times.get(table, now or 0)
                    return _described(tensors, table, state == "row", place, passes, now or 0, spec)
        if any(tensors.find(f"{table}/gone", key) is not None for tensors, _ in opened):
            return KeyInCheckpoint("evicted", spec=spec)
        if any(entry.whole for _, entry in opened):
            break
    return KeyInCheckpoint("absent", spec=spec)


def _described(
    tensors: StoredTensors, table: str, is_row: bool, place: int, passes: int, now: int, spec: TableSpec | None
) -> KeyInCheckpoint:
    """`passes`: shrinks since the file was made, each of which has decayed shows and clicks."""
    prefix = f"{table}/" if is_row else f"{table}/waiting_"
    unseen = now - tensors.number(f"{prefix}seen", place)
    updates = tensors.number(f"{table}/updates", place) if is_row else None
    occurrences = None if is_row else tensors.number(f"{prefix}occurrences", place)
    kept = KeyInCheckpoint("row" if is_row else "candidate", updates, occurrences, unseen, spec=spec)
    if spec is None or not spec.has_scores:
        return kept
    decay = ((spec.keep and spec.keep.decay) or 1.0) ** passes
    shows, clicks = (float(value) * decay for value in tensors.row(f"{prefix}events", place))
    weights = spec.score or ScoreWeights()
    score = weights.unclicked * (shows - clicks) + weights.clicked * clicks
    return KeyInCheckpoint(kept.state, updates, occurrences, unseen, shows, clicks, score, spec)


def _open(file: SearchedFile, check: FileCheck) -> tuple[StoredTensors, _RowsMetadata]:
    check.require(file)
    tensors = StoredTensors(file.path)
    try:
        return tensors, _RowsMetadata.model_validate_json(tensors.metadata.get(_METADATA, ""))
    except ValidationError as error:
        raise Damaged(f"{file.path.name} has no rows of a checkpoint") from error

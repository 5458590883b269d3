"""Sentences about one key: where its row is, or why there is none, as far as stored files tell."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from backend.artifacts.stored_rows import CheckpointedRows
from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.process.lookup.in_checkpoint import KeyInCheckpoint
from gradstream.process.lookup.in_export import KeyInExports
from gradstream.process.saving.exports import ExportManifest
from gradstream.spec.tables import AdmissionRule, TableSpec


def shortest(values: NDArray[np.float32]) -> list[float | None]:
    """Return each as the shortest decimal that is this float32; None: it is not finite, which JSON has no word for."""
    return [float(str(value)) if math.isfinite(value) else None for value in values]


def of_export(found: KeyInExports, newest: ExportManifest, spec: TableSpec) -> str:
    if found.state == "row":
        changed = f"; it changed last in export {found.number}" if found.number != newest.number else ""
        return f"Export {newest.number} has its row{changed}."
    if found.earlier:
        return f"Export {found.number} had its row, and it was evicted before the base of export {newest.number}."
    if found.state == "evicted":
        what = "row, or its candidate," if spec.admit else "row"
        return f"A shrink has removed its {what} before export {found.number}, which has its tombstone."
    reasons = [f"no push that counted has brought it before export {newest.number}"]
    reasons += ["it waits for its admission"] if spec.admit else []
    reasons += ["it was evicted before the oldest of these exports"] if spec.shrinks_every else []
    return f"No export that is kept has a row for it: {', or '.join(reasons)}."


def name_of(rows: CheckpointedRows) -> str:
    return f"The last checkpoint of attempt {rows.attempt}" if rows.number == FINAL_CHECKPOINT else f"Checkpoint {rows.number}"


def of_checkpoint(found: KeyInCheckpoint, name: str) -> str:
    seen = f", last pushed {_passes(found.unseen)}" if found.unseen is not None else ""
    match found.state:
        case "row":
            return f"{name} has its row: {found.updates:,} updates{seen}."
        case "candidate":
            return f"In {_lower(name)} it waits for its admission: {found.occurrences:,} occurrences{_needed(found)}{seen}."
        case "evicted":
            return f"{name} has neither row nor candidate: a shrink has removed it."
    evicted = ", or a shrink removed it before the oldest files of this checkpoint" if _evicts(found.spec) else ""
    return f"{name} has neither row nor candidate: no push that counted has brought it{evicted}."


def _evicts(spec: TableSpec | None) -> bool:
    return spec is None or spec.shrinks_every is not None


def _needed(found: KeyInCheckpoint) -> str:
    match found.spec and found.spec.admit:
        case AdmissionRule(count=int(count)):
            return f" of {count:,}"
        case AdmissionRule(probability=float(probability)):
            return f", each admitted with probability {probability:g}"
        case AdmissionRule(score=float(least)) if found.score is not None:
            return f", score {found.score:.3g} of {least:g}"
    return ""


def _passes(unseen: int) -> str:
    if unseen == 0:
        return "in this pass of the table"
    return f"{unseen:,} pass{'es' if unseen > 1 else ''} of the table ago"


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]

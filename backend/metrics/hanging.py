"""Processes that take long to start: kept in the job's progress, and told as events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from backend.db import now
from backend.jobs import feed
from backend.jobs.models import JobRow
from backend.progress.folding import end_of, fold
from backend.progress.state import hanging_processes
from gradstream.events import EventKind
from gradstream.process.watchdogs.start import Hang, ended_sentence, group_by_place, hang_sentences


def note_hangs(session: Session, job: JobRow, found: Mapping[str, Hang | None], *, ended: Sequence[str]) -> None:
    """Note what live processes of the attempt report, by label, and forget those that have `ended`. `job` must be locked.

    An event is written for each place where a first process hangs, and when the last one there has gone on."""
    before = hanging_processes(job.progress, job.attempt)
    kept = {label: hang for label, hang in before.items() if label not in found and label not in ended}
    after = kept | {label: hang for label, hang in found.items() if hang}
    if after == before:
        return
    if job.progress.get("attempt") != job.attempt:
        job.progress = fold(job.progress, job.attempt, [], now(session), **end_of(job.spec))
    job.progress = {**job.progress, "hanging": {label: hang.model_dump(mode="json") for label, hang in after.items()}}
    left, there = {hang.place for hang in before.values()}, {hang.place for hang in after.values()}
    new = {label: hang for label, hang in after.items() if hang.place not in left}
    for labels, sentence in zip(group_by_place(new), hang_sentences(new), strict=True):
        data = {"about": "start", "processes": labels, **new[labels[0]].model_dump(mode="json")}
        feed.record(session, job, EventKind.WARNING, sentence, actor=labels[0], data=data)
    went_on = {label: hang for label, hang in before.items() if hang.place not in there and label not in ended}
    for labels in group_by_place(went_on):
        message = ended_sentence({label: before[label] for label in labels})
        feed.record(session, job, EventKind.RESOLVED, message, actor=labels[0])
    feed.changed(session, job)

"""Kinds of events in a job's history: every kind that is written, read or filtered is defined here, once."""

from __future__ import annotations

from enum import StrEnum


class EventKind(StrEnum):
    """The kind of an event in the history of a job."""

    meaning: str
    """When such an event is written, as a sentence without its full stop."""

    def __new__(cls, value: str, meaning: str) -> EventKind:
        kind = str.__new__(cls, value)
        kind._value_, kind.meaning = value, meaning
        return kind

    STATUS = "status", "the job's status changed"
    START = "start", "the job took its first weights from another job or a file"
    ATTEMPT = "attempt", "an attempt of the job began, changed or ended"
    PROCESS = "process", "a process ended, was stopped, or starts again"
    CHECKPOINT = "checkpoint", "a checkpoint of the job was committed"
    EXPORT = "export", "an export of the model for serving was committed"
    TARGET = "target", "the job reached its target"
    WARNING = "warning", "something needs attention, and the message says what to do"
    RESOLVED = "resolved", "what a warning named is over"
    PRIORITY = "priority", "a user changed the job's priority"
    NAME = "name", "a user changed the job's name"
    RETENTION = "retention", "metrics of the job were removed because of their age"


KINDS_EXPLAINED = "; ".join(f"`{kind}`: {kind.meaning}" for kind in EventKind)
"""Every kind with its meaning, as the API's document says it."""

"""Warnings and notes on a job file, as the API gives them."""

from __future__ import annotations

from gradstream.advise import warnings as advice
from gradstream.api.jobs import JobWarning
from gradstream.spec import JobSpec
from gradstream.workload_source import CodeFindings


def warnings_of(spec: JobSpec) -> list[JobWarning]:
    return [JobWarning(pointer=each.pointer, message=each.text) for each in advice.warnings(spec)]


def warnings_of_code(found: CodeFindings) -> list[JobWarning]:
    return [JobWarning(pointer=each.pointer, message=each.message) for each in found.warnings]


def notes_on(spec: JobSpec) -> list[JobWarning]:
    return [JobWarning(pointer=each.pointer, message=each.text) for each in advice.notes(spec)]

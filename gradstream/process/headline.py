"""The failure that explains a job's end where several processes have failed, and the sentences that refer to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol, TypeVar

from gradstream.process.exits import FAILS_THE_JOB, ExitReason

_RAISED = re.compile(r": [A-Za-z_]\w*: ")
"""The name of an exception in the sentence of `explain_user_error`; the platform's own explanations have none."""


class FailedProcess(Protocol):
    @property
    def role(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def reason(self) -> ExitReason | None: ...
    @property
    def message(self) -> str: ...
    @property
    def ended_at(self) -> float: ...


F = TypeVar("F", bound=FailedProcess)


def sort_failures(failures: Iterable[F]) -> list[F]:
    """The failures, the most telling one first.

    A mistake in user code or data comes before its consequences. Among mistakes, the platform's explanation comes before a bare
    exception, and a worker before the evaluator. Among other failures, a server comes before its clients, and a lost plane before
    the rest. Among equals, the earliest comes first.
    """
    return sorted(failures, key=_gravity)


def _gravity(failure: FailedProcess) -> tuple[bool, bool, bool, float, str]:
    if failure.reason in FAILS_THE_JOB:
        bare = _RAISED.search(failure.message) is not None
        return False, bare, failure.role == "evaluator", failure.ended_at, failure.label
    plane = failure.reason is ExitReason.PLANE_LOST
    return True, failure.role != "server", not plane, failure.ended_at, failure.label


def drop_reason(sentence: str, reason: str | None) -> str:
    """Return the sentence without a reason that stands before it already: `worker-0 ended.` instead of `worker-0 ended: killed by
    signal 9.`"""
    return sentence.replace(f": {reason}", "", 1) if reason else sentence

"""GradstreamError
├── NotFound     404   a job, node, bundle, artifact ... that does not exist (or not for you)
├── Conflict     409   the thing is in a state that forbids the request
├── Invalid      422   what was sent is wrong; `problems` names each place and its remedy        └── TooLarge 413
├── Denied       403   signed in, but not allowed          ├── NotSignedIn   401
│                                                          └── UnknownHost   421
└── Unavailable  503   something needed did not answer in time                                  └── TooManyRequests 429

The five kinds are closed: a new error is a leaf under one of them, so that the API's status, the CLI's exit code
and the SDK's exception follow from its kind alone. ProcessLost stands beside them: it ends a process of a job, and never
reaches the API.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake in something a user sent."""

    pointer: str
    """JSON pointer into the document, e.g. `/roles/worker/count`."""
    message: str
    """The problem and its remedy, one sentence each."""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def pointer_to(path: Iterable[object]) -> str:
    """The JSON pointer of these keys and indices."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


class GradstreamError(Exception):
    """The root. `str(error)` is a sentence for a person; `context` is for machines."""

    def __init__(self, message: str, **context: object) -> None:
        super().__init__(message)
        self.message = message
        self.context = context


class NotFound(GradstreamError): ...


class Conflict(GradstreamError): ...


class Invalid(GradstreamError):
    def __init__(self, message: str, problems: list[Mistake] | None = None, **context: object) -> None:
        super().__init__(message, **context)
        self.problems = problems or []
        for problem in self.problems:  # so that a traceback in a script, a notebook or pytest shows them, too
            self.add_note(f"{problem.pointer}: {problem.message}" if problem.pointer else problem.message)


class Denied(GradstreamError): ...


class Unavailable(GradstreamError): ...


class NotSignedIn(Denied): ...


class OutOfScope(Denied):
    """A token of the scope `read` was used for an operation that changes something."""


class ForeignPage(Denied):
    """Another page than the platform's own used a browser's session."""


class UnknownHost(Denied):
    """A request names a host that the platform is not known by."""


class NodeRemoved(Denied):
    """A user has removed this node from the platform: its agent ends."""


class IllegalTransition(Conflict): ...


class InvalidJob(Invalid): ...


class InvalidBundle(Invalid): ...


class TooLarge(Invalid):
    """More bytes than are read."""


class InvalidWorkload(Invalid):
    """User code that does not offer what a workload must (see `gradstream.workload`)."""


class TooManyRequests(Unavailable):
    """One caller asks for more at a time than it may; it passes when earlier requests have ended."""


class ProcessLost(GradstreamError):
    """Another process of this one's group, or one that fetches its mini-batches, is gone. It is no mistake of user code, also if
    it is noticed while user code runs."""


class PlaneLost(Unavailable):
    """The data plane of this attempt is gone: its log was deleted, or Redis came back without it.

    Nothing of this attempt can be saved any more; a new attempt starts from the last committed checkpoint."""

"""How a job process ends: an exit code, and beside it `exit.json` in its folder with one reason and one sentence.

The reason decides what happens next: a mistake in user code fails the job, since the same mistake would happen again;
a lost process or plane makes a new attempt.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, field_validator

from gradstream.errors import GradstreamError, Unavailable
from gradstream.process.blame import find_line, format_error
from gradstream.process.small_files import read_small_file

_LONGEST_FILE = 2**20
"""Bytes of `exit.json`."""


class ExitReason(StrEnum):
    DONE = "done"
    STOPPED = "stopped"
    USER_ERROR = "user_error"
    """The workload raised."""
    LOSS_NOT_FINITE = "loss_not_finite"
    DATASET_TOO_SMALL = "dataset_too_small"
    PLANE_LOST = "plane_lost"
    """Redis came back without this attempt, or fenced this process off."""
    INTERNAL = "internal_error"
    """A bug of ours."""
    PEER_LOST = "peer_lost"
    """A process of its group has ended."""
    HUNG = "hung"
    """User code did not return from a step: `roles.worker.step_timeout`."""
    KILLED = "killed"
    """By a signal, out of memory included. Written by the agent, as the process could not."""
    NODE_LOST = "node_lost"
    """The node went silent. Written by the controller."""
    RESTARTED = "restarted"
    """A user asked for it. Written by the control plane, which lets the node end it."""
    CANNOT_START = "cannot_start"
    """Its node could not carry out the order: no bundle, something that it does not know. Written by the agent."""
    NODE_UNFIT = "node_unfit"
    """Its node could not start it, nor would it have started another: no disk space, no memory, a broken installation. Written by
    the agent."""


EXIT_CODES: dict[ExitReason, int] = {
    ExitReason.DONE: 0,
    ExitReason.STOPPED: 0,
    ExitReason.USER_ERROR: 1,
    ExitReason.LOSS_NOT_FINITE: 2,
    ExitReason.DATASET_TOO_SMALL: 3,
    ExitReason.PLANE_LOST: 75,
    ExitReason.INTERNAL: 70,
    ExitReason.PEER_LOST: 76,
    ExitReason.HUNG: 77,
}

GOOD = frozenset({ExitReason.DONE, ExitReason.STOPPED})
"""Nothing went wrong."""
FAILS_THE_JOB = frozenset({ExitReason.USER_ERROR, ExitReason.LOSS_NOT_FINITE, ExitReason.DATASET_TOO_SMALL})
"""A new attempt would end the same way."""
FAILED_STARTS = frozenset({ExitReason.CANNOT_START, ExitReason.NODE_UNFIT})
"""It never ran. Not the job's fault, as far as anybody knows."""
UNCHARGED = FAILED_STARTS | {ExitReason.PLANE_LOST, ExitReason.NODE_LOST, ExitReason.STOPPED, ExitReason.RESTARTED}
"""Not the job's fault: a new attempt is made without using up one of its `retries`."""

LONGEST_MESSAGE = 2000
CANNOT_BEGIN = 71
"""Exit code of a process that failed before its `main` began."""
BEGAN = "began"
"""The file that says that it has begun."""


class Exit(BaseModel, frozen=True):
    reason: ExitReason
    message: str = ""
    """One sentence for the user."""
    code: int = 0
    """As waitpid gives it: negative for a signal."""

    @field_validator("message")
    @classmethod
    def _storable(cls, message: str) -> str:
        """User code raises with any text; what neither UTF-8 nor Postgres knows is replaced, and what is too long is truncated."""
        return message[:LONGEST_MESSAGE].replace("\x00", "\ufffd").encode("utf-8", "backslashreplace").decode()


class UserError(Exception):
    """The workload raised; the message says where ("model()", "loss()"), the cause is what it raised."""


@dataclass
class Ending:
    """How the process is about to end; changed by whoever knows."""

    reason: ExitReason = ExitReason.DONE
    message: str = ""

    def set(self, reason: ExitReason, message: str) -> None:
        self.reason, self.message = reason, message

    @property
    def code(self) -> int:
        return EXIT_CODES[self.reason]


def write(folder: Path, exit: Exit) -> None:
    """Leave `exit.json` in `folder`, whole or not at all."""
    temporary = folder / "exit.json.tmp"
    temporary.write_text(exit.model_dump_json())
    os.replace(temporary, folder / "exit.json")


def read(folder: Path, code: int) -> Exit:
    """How the process with this exit code and folder ended, in the words of whoever knows best. User code can write `exit.json`,
    too: a reason that only the platform may give, or one of another exit code, counts as none."""
    try:
        said = Exit.model_validate(json.loads(read_small_file(folder / "exit.json", _LONGEST_FILE)))
    except (OSError, ValueError, RecursionError):
        said = None
    if code < 0:
        return Exit(reason=ExitReason.KILLED, message=f"killed by signal {-code}", code=code)
    if code == CANNOT_BEGIN and not (folder / BEGAN).exists():
        message = said.message if said else "it left no reason"
        return Exit(reason=ExitReason.NODE_UNFIT, message=f"it could not begin on its node: {message}", code=code)
    if said is None or EXIT_CODES.get(said.reason) != code:
        return Exit(reason=ExitReason.INTERNAL, message=f"ended with exit code {code} and left no reason", code=code)
    return said.model_copy(update={"code": code})


def explain_user_error(error: UserError) -> str:
    """One sentence: where the workload failed, and with which words."""
    cause = error.__cause__
    if cause is None:
        return str(error)
    if isinstance(cause, GradstreamError):
        return f"{error}: {cause}"
    hint = ""
    if isinstance(cause, FileNotFoundError) and isinstance(cause.filename, str) and not os.path.isabs(cause.filename):
        hint = "; relative paths begin in the folder of the job's code"
    if isinstance(cause, OSError) and cause.errno == errno.EROFS:
        hint = "; an isolated job writes to its working folder and /tmp; `gradstream up --writable FOLDER` opens more to all jobs"
    return f"{error}: {type(cause).__name__}: {cause}{hint}"


@contextmanager
def explained(folder: Path) -> Iterator[Ending]:
    """Turn what a process ends with into its exit code and `exit.json`. Exceptions end here, printed to the process's log."""
    ending = Ending()
    try:
        yield ending
    except Unavailable as error:  # PlaneLost among them: what this process needs is gone
        ending.set(ExitReason.PLANE_LOST, str(error))
    except UserError as error:
        cause = error.__cause__
        sys.stderr.write(format_error(cause, folder) if cause else f"{error}\n")
        line = find_line(cause, folder) if cause else None
        ending.set(ExitReason.USER_ERROR, explain_user_error(error) + (f" ({line})" if line else ""))
    except Exception as error:
        traceback.print_exc()
        ending.set(ExitReason.INTERNAL, f"{type(error).__name__}: {error}")
    write(folder, Exit(reason=ending.reason, message=ending.message, code=ending.code))

"""Ctrl-C and SIGTERM of a command that only watches a job: the job keeps running, and the command says how to come back."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import typer

from gradstream.cli.common import INTERRUPTED, TERMINATED

if TYPE_CHECKING:
    from gradstream.client import Job

WAYS = {"follow": "Follow", "wait": "Wait", "stop": "Stop"}
"""Commands that take a job, and the purpose of each."""


class _Terminated(KeyboardInterrupt):
    """SIGTERM."""


@contextmanager
def detaching(unknown: str, *ways: str) -> Iterator[Callable[[Job], None]]:
    """Let Ctrl-C and SIGTERM end the body with a sentence and `ways`, the commands to come back with. The body gives the job to
    the yielded function as soon as it knows it; until then the sentence is `unknown`. Raises: typer.Exit."""
    known: Job | None = None

    def know(job: Job) -> None:
        nonlocal known
        known = job

    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield know
    except KeyboardInterrupt as error:
        _tell(known, unknown, ways)
        raise typer.Exit(TERMINATED if isinstance(error, _Terminated) else INTERRUPTED) from error
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_number: int, _frame: object) -> NoReturn:
    raise _Terminated


def _tell(job: Job | None, unknown: str, ways: tuple[str, ...]) -> None:
    from gradstream.cli.terminal.output import talk

    if job is None:
        talk(f"\n{unknown}")
    elif job.ended:
        talk(f"\n{job.name} has ended: {job.status}")
    else:
        talk(f"\nDetached; {job.name} keeps running.")
        for way in ways:
            talk(f"  {WAYS[way] + ':':8} gradstream {way} {job.id}")

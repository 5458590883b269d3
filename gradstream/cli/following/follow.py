"""A job's run as it happens, on the terminal: a line of events and a bar of progress, or plain lines where there is no terminal.

Shared by `follow`, `submit --follow`, `run` and `demo`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from gradstream.cli.terminal.output import duration, progress_line, score, status, talk, talking
from gradstream.cli.terminal.visible import make_visible
from gradstream.events import EventKind

if TYPE_CHECKING:
    from gradstream.client import Client, Job

_LINES_EVERY = 2.0
"""Seconds between two lines of progress where there is no terminal."""
_TAIL = 20
"""Lines of log shown for a job that failed."""
_STYLES: dict[str, str] = {EventKind.WARNING: "yellow", EventKind.RESOLVED: "green"}
"""Styles of lines of events; others are dim."""


class Bar:
    """For a terminal."""

    def __init__(self) -> None:
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[now]}", markup=False),
            TimeElapsedColumn(),
            console=talking(),
        )
        self._task = self._bar.add_task("waiting", total=None, now="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.stop()

    def event(self, words: str, style: str) -> None:
        self._bar.console.print(Text(make_visible(words), style))

    def job(self, job: Job) -> None:
        total = job.progress.total_samples
        done = total if job.status == "succeeded" else _trained(job)
        shown, now = status(job.status).markup, make_visible(progress_line(job))
        self._bar.update(self._task, description=shown, completed=done or 0, total=total, now=now)


def _trained(job: Job) -> int:
    """Samples whose mini-batches are trained, never all of them before the job has ended."""
    now, total = job.progress, job.progress.total_samples or 0
    return min(max(now.samples, int((now.done or 0) * total)), int(0.99 * total))


class Lines:
    """For a pipe, a file or a CI log."""

    def __init__(self) -> None:
        self._last = 0.0
        self._said = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def event(self, words: str, style: str) -> None:
        talk(words, style)

    def job(self, job: Job) -> None:
        now, line = time.monotonic(), f"{job.status}  {progress_line(job)}"
        if job.progress.samples and line != self._said and (job.ended or now - self._last >= _LINES_EVERY):
            self._last, self._said = now, line
            talk(line)


def follow(client: Client, job: Job, *, seen: Callable[[Job], None] = lambda job: None) -> Job:
    """Show a job until it has ended, and return it as it ended. `seen` is called with each state of it.

    Raises: KeyboardInterrupt, with the job going on.
    """
    from gradstream.cli.following.told_events import EventLines
    from gradstream.client import Event
    from gradstream.client import Job as Model

    lines = EventLines()
    with Bar() if talking().is_terminal else Lines() as view:
        for event in client.follow(job.id):
            if event.kind == "event":
                happened = Event.model_validate(event.data)
                for line in lines.take(happened):
                    view.event(f"{time.strftime('%H:%M:%S')}  {line}", _STYLES.get(happened.kind, "dim"))
            elif event.kind == "job":
                job = Model.model_validate(event.data)
                seen(job)
                view.job(job)
    return job


def conclude(client: Client, job: Job) -> None:
    """Say how a job ended; for one that failed, with the end of the log of the process that explains it."""
    said = make_visible(f": {job.message}" if job.message else "")
    talking().print(Text.assemble((job.status, status(job.status).style), " ", job.name, said))
    if job.started_at and job.ended_at:
        talk(f"  took {duration((job.ended_at - job.started_at).total_seconds())}, {progress_line(job)}")
    for name, value in sorted(job.progress.eval.items()):
        talk(f"  eval/{name} {score(value)}")
    for alert in job.progress.alerts:
        talk(f"  alert: {alert}", "yellow")
    if job.status == "succeeded":
        talk(f"  the model: gradstream download {job.id}")
    if job.status == "failed":
        for label, text in _last_words(client, job):
            for line in text.splitlines():
                talk(f"  {label} | {line}", "dim")


def _last_words(client: Client, job: Job) -> list[tuple[str, str]]:
    """The last lines of the process for which the job failed; without such a process, of all."""
    blamed = next(
        (each.data["process"] for each in reversed(client.events(job.id, kinds=[EventKind.STATUS])) if "log_tail" in each.data), ""
    )
    role, _, rank = blamed.partition("-")
    chunks = client.logs(job.id, role=role or None, rank=int(rank) if rank else None, tail=_TAIL)
    return [(chunk.label, chunk.text) for chunk in chunks]

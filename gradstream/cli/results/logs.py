"""`gradstream logs`"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradstream.cli.common import BRIEF, INTERRUPTED, LONG, AsJson, JobReference, TokenFile, Url, connect
from gradstream.cli.terminal.visible import make_visible_but_colours

if TYPE_CHECKING:
    from gradstream.client import Client, Job, LogChunk


def command(
    job: JobReference,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing until the job ends")] = False,
    process: Annotated[str | None, typer.Option("--process", "-p", help="Only this process, e.g. worker-0")] = None,
    tail: Annotated[
        int | None, typer.Option("--tail", "-n", min=1, max=10_000, help="Only the last lines, about this many")
    ] = None,
    timestamps: Annotated[bool, typer.Option("--timestamps", "-t", help="Begin each line with the time of its arrival")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Print what a job's processes wrote, each line with its process in front. With --json: one object per piece of output.

    Example: gradstream logs digits --follow --process worker-0
    """
    from gradstream.cli.terminal.output import print_json, talk

    lines, printed = _Lines(timestamps), False
    with connect(url, token_file, timeout=LONG if follow else BRIEF) as client:
        found = client.find(job)
        which = {} if process is None else _which(client, found, process)
        try:
            for chunk in _chunks(client, str(found.id), which, tail, follow):
                if process is not None and chunk.label != process:
                    continue
                printed = True
                if as_json:
                    print_json(chunk.as_dict())
                else:
                    lines.print(chunk)
        except KeyboardInterrupt as error:
            raise typer.Exit(INTERRUPTED) from error
        finally:
            lines.finish()
    if not printed:
        talk(f"{process or found.name} has printed nothing{'' if found.ended else ' yet'}.")


def _which(client: Client, job: Job, process: str) -> dict[str, Any]:
    """Return role and rank of a process, for `Client.logs`; nothing while the job has no processes. Raises: NotFound, for a process
    that a job which has some has not."""
    from gradstream.errors import NotFound

    known = {one.label: one for one in client.processes(job.id)}
    if process in known:
        return {"role": known[process].role, "rank": known[process].rank}
    if known:
        raise NotFound(f"{job.name} has no process '{process}'; it has: {', '.join(sorted(known))}")
    return {}


def _chunks(client: Client, id: str, which: dict[str, Any], tail: int | None, follow: bool) -> Iterator[LogChunk]:
    from gradstream.client import LogChunk

    seen = 0
    for chunk in client.logs(id, tail=tail, **which):
        seen = max(seen, chunk.seq)
        yield chunk
    if follow:
        for event in client.follow(id, after=seen):
            if event.kind == "log":
                yield LogChunk.model_validate(event.data)


class _Lines:
    """Whole lines of several processes out of pieces that begin and end anywhere."""

    def __init__(self, timestamps: bool) -> None:
        self._timestamps = timestamps
        self._shown: Callable[[str], str] = make_visible_but_colours if sys.stdout.isatty() else str
        """A file gets every byte, a terminal no commands of others."""
        self._begun: dict[str, tuple[str, str]] = {}
        """The beginning of a line by process, with the prefix that it gets."""

    def print(self, chunk: LogChunk) -> None:
        prefix = f"{chunk.label} | "
        if self._timestamps:
            prefix = f"{chunk.time.astimezone():%Y-%m-%d %H:%M:%S} {prefix}"
        first_prefix, begun = self._begun.get(chunk.label) or (prefix, "")
        *lines, rest = (begun + chunk.text).split("\n")
        for at, line in enumerate(lines):
            last_state = line.rsplit("\r", 1)[-1]  # of a line that was repainted
            print(f"{prefix if at else first_prefix}{self._shown(last_state)}", flush=True)
        self._begun[chunk.label] = (prefix if lines or not begun else first_prefix, rest)

    def finish(self) -> None:
        for prefix, rest in self._begun.values():
            if rest:
                print(f"{prefix}{self._shown(rest)}", flush=True)

"""`gradstream logs`"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import BRIEF, INTERRUPTED, LONG, AsJson, JobReference, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.client import Client, Job, LogChunk


def command(
    job: JobReference,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends")] = False,
    process: Annotated[str | None, typer.Option("--process", "-p", help="Only this one, e.g. worker-0")] = None,
    tail: Annotated[int | None, typer.Option("--tail", "-n", min=1, max=10_000, help="Only about the last so many lines")] = None,
    as_json: AsJson = False, url: Url = None, token_file: TokenFile = None,
) -> None:  # fmt: skip
    """Print what a job's processes wrote, each line with its process in front. With --json: one object per piece of output.

    Example: gradstream logs digits --follow --process worker-0
    """
    from gradstream.cli.output import print_json

    lines = _Lines()
    with connect(url, token_file, timeout=LONG if follow else BRIEF) as client:
        found = client.find(job)
        if process is not None:
            _refuse_unknown(client, found, process)
        try:
            for chunk in _chunks(client, str(found.id), tail, follow):
                if process is not None and chunk.label != process:
                    continue
                if as_json:
                    print_json(chunk.as_dict())
                else:
                    lines.print(chunk)
        except KeyboardInterrupt as error:
            raise typer.Exit(INTERRUPTED) from error
        finally:
            lines.finish()


def _refuse_unknown(client: Client, job: Job, process: str) -> None:
    """Raises: NotFound, for a process that a job which has some has not."""
    from gradstream.errors import NotFound

    labels = {one.label for one in client.processes(job.id)}
    if labels and process not in labels:
        raise NotFound(f"{job.name} has no process '{process}'; it has: {', '.join(sorted(labels))}")


def _chunks(client: Client, id: str, tail: int | None, follow: bool) -> Iterator[LogChunk]:
    from gradstream.client import LogChunk

    seen = 0
    for chunk in client.logs(id, tail=tail):
        seen = max(seen, chunk.seq)
        yield chunk
    if follow:
        for event in client.follow(id, after=seen):
            if event.kind == "log":
                yield LogChunk.model_validate(event.data)


class _Lines:
    """Whole lines of several processes out of pieces that begin and end anywhere."""

    def __init__(self) -> None:
        self._begun: dict[str, str] = {}

    def print(self, chunk: LogChunk) -> None:
        *lines, rest = (self._begun.get(chunk.label, "") + chunk.text).split("\n")
        for line in lines:
            print(f"{chunk.label} | {line.rsplit(chr(13), 1)[-1]}", flush=True)  # of a line repainted by \r, the last state
        self._begun[chunk.label] = rest

    def finish(self) -> None:
        for label, rest in self._begun.items():
            if rest:
                print(f"{label} | {rest}", flush=True)

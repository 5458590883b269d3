"""`gradstream stop`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.client import Client, Job, Process


def command(
    job: JobReference,
    process: Annotated[str | None, typer.Option("--process", "-p", help="Stop only this worker; the others continue")] = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Stop a job: it writes a last checkpoint and ends as cancelled within about half a minute. `gradstream wait` waits for that.

    Example: gradstream stop digits && gradstream wait digits
    """
    from gradstream.cli.terminal.output import print_json, talk

    with connect(url, token_file) as client:
        found = client.find(job)
        stopped = client.stop(found.id) if process is None else _worker(client, found, process)
    if process is None:
        talk(f"{found.name} had ended before: {found.status}" if found.ended else f"{found.name} ({found.id}) is {stopped.status}")
    if as_json:
        print_json(stopped.as_dict())


def _worker(client: Client, job: Job, label: str) -> Process:
    """Raises: NotFound, Conflict."""
    from gradstream.cli.terminal.output import talk
    from gradstream.errors import Conflict

    live = client.live_process(job.id, label)
    choice = client.choices(job.id, live.id).stop
    if not choice.possible:
        raise Conflict(choice.message)
    talk(choice.message)
    return client.stop_process(job.id, live.id)

"""`gradstream wait`"""

from __future__ import annotations

from typing import Annotated

import typer

from gradstream.cli.common import LONG, TIMED_OUT, AsJson, JobReference, TokenFile, Url, connect, exit_with, seconds


def command(
    job: JobReference,
    timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Stop waiting after this time, e.g. 10m; the job continues")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Wait for a job's end. The exit code says how it went:

    0 succeeded, 10 failed, 11 cancelled, 12 timed out, 124 not ended within --timeout,
    2 wrong usage, 3 not signed in, 4 no such job, 6 platform not reachable for a minute.

    Example: gradstream wait digits --timeout 30m && gradstream download digits
    """
    from gradstream.cli.following.detaching import detaching
    from gradstream.cli.terminal.output import print_json, talk

    limit = seconds(timeout)
    with (
        detaching(f"Interrupted before the platform answered; {job} is not changed.", "wait", "stop") as know,
        connect(url, token_file, timeout=LONG) as client,
    ):
        found = client.find(job)
        know(found)
        if not found.ended:
            talk(f"{found.name} is {found.status}; waiting for its end")
        try:
            ended = client.wait(found.id, timeout=limit)
        except TimeoutError as error:
            talk(f"{error} after {timeout}")
            raise typer.Exit(TIMED_OUT) from error
    talk(f"{ended.name} {ended.status}{f': {ended.message}' if ended.message else ''}")
    if as_json:
        print_json(ended.as_dict())
    exit_with(ended)

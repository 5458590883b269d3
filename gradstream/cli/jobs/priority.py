"""`gradstream priority`"""

from __future__ import annotations

from typing import Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect


def command(
    job: JobReference,
    priority: Annotated[int, typer.Argument(min=0, max=100, help="0 to 100; jobs of higher priority start first")],
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Change the priority of a job. It decides when a waiting job starts; a job that runs is not interrupted.

    Example: gradstream priority digits 80
    """
    from gradstream.cli.terminal.output import print_json, talk

    with connect(url, token_file) as client:
        changed = client.change_priority(job, priority)
    place = f", place {changed.position} in the queue" if changed.position else f", {changed.status}"
    talk(f"{changed.name} has priority {priority}{place}")
    if as_json:
        print_json(changed.as_dict())

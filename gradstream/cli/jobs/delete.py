"""`gradstream delete`"""

from __future__ import annotations

from typing import Annotated

import typer

from gradstream.cli.common import AsJson, TokenFile, Url, connect
from gradstream.cli.completion import complete_job


def command(
    jobs: Annotated[
        list[str],
        typer.Argument(metavar="JOB...", help="Ids, beginnings of ids, or names (their newest jobs)", autocompletion=complete_job),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Delete jobs that have ended: their metrics, logs, checkpoints and models go with them.

    Example: gradstream delete digits 3f2a --yes
    """
    from gradstream.cli.terminal.output import print_json, talk
    from gradstream.errors import Conflict

    with connect(url, token_file) as client:
        found = list({job.id: job for job in map(client.find, jobs)}.values())
        if running := [job for job in found if not job.ended]:
            names = ", ".join(f"{job.name} is {job.status}" for job in running)
            raise Conflict(f"{names}; stop it first: gradstream stop {running[0].id}")
        for job in found:
            talk(f"{job.id}  {job.name}, {job.status}")
        if not yes:
            typer.confirm(f"Delete {'this job' if len(found) == 1 else f'these {len(found)} jobs'}?", abort=True, err=True)
        for job in found:
            client.delete(job.id)
    talk("Deleted.")
    if as_json:
        print_json({"deleted": [str(job.id) for job in found]})

"""`gradstream restart`"""

from __future__ import annotations

from typing import Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect


def command(
    job: JobReference,
    process: Annotated[str, typer.Argument(help="Process to restart, e.g. worker-0")],
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask, even if the whole job goes back to its last checkpoint")
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Restart one process of a running job, and say what that costs. Asks first if all processes end with it.

    Example: gradstream restart digits worker-1
    """
    from gradstream.cli.terminal.output import print_json, talk
    from gradstream.errors import Conflict

    with connect(url, token_file) as client:
        found = client.find(job)
        live = client.live_process(found.id, process)
        choice = client.choices(found.id, live.id).restart
        if not choice.possible:
            raise Conflict(choice.message)
        talk(choice.message)
        if choice.new_attempt and not yes:
            typer.confirm("Restart it?", abort=True, err=True)
        ended = client.restart_process(found.id, live.id)
    if as_json:
        print_json(ended.as_dict())

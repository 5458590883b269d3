"""`gradstream events`"""

from __future__ import annotations

from typing import Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect
from gradstream.events import EventKind


def command(
    job: JobReference,
    kind: Annotated[list[EventKind] | None, typer.Option(help="Only events of this kind; may be repeated")] = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Print what happened to a job, oldest first: who did what, and what follows.

    Example: gradstream events digits --kind process --kind attempt
    """
    from gradstream.cli.terminal.output import Column, print_json, print_table, talk

    with connect(url, token_file) as client:
        events = client.events(job, kinds=kind or ())
    if as_json:
        print_json({"items": [event.as_dict() for event in events]})
    elif events:
        rows = [(f"{event.time.astimezone():%Y-%m-%d %H:%M:%S}", event.kind, event.message, event.actor) for event in events]
        print_table(("time", "kind", Column("event", wraps=True), Column("by", optional=True)), rows)
    else:
        talk("No events of this kind." if kind else "No events yet.")

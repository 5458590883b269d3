"""`gradstream export`"""

from __future__ import annotations

from typing import Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect


def command(
    job: JobReference,
    base: Annotated[bool, typer.Option("--base", help="Export all rows, not only what changed since the last export")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the export is committed")] = True,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Ask the servers of a running job for an export of the model and its embedding tables. Training goes on meanwhile.

    Example: gradstream export clicks
    """
    from gradstream.cli.terminal.output import print_json, size

    with connect(url, token_file) as client:
        found = client.export(job, base=base, wait=wait)
    if as_json:
        print_json(found.as_dict())
    elif found.state == "committed":
        kind = "base" if found.base else f"delta on {found.after}"
        print(f"export {found.number}: {kind}, version {found.version:,}, {found.rows:,} rows, {size(found.size or 0)}")
    else:
        print(f"export {found.number} is asked for")

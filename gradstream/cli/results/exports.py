"""`gradstream exports`"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import BRIEF, LONG, AsJson, JobReference, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.client import Client, Job, JobExport

_POLL, _RETRY_INTERVAL = 10.0, 1.0
"""Seconds between two looks, if the job does not change; and after a platform that did not answer."""


def command(
    job: JobReference,
    into: Annotated[Path | None, typer.Option("--into", "-o", help="Download the newest export into this folder")] = None,
    follow: Annotated[
        Path | None, typer.Option("--follow", help="Keep this folder in step until the job ends, for gradstream.serving")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """List the exports of a job, or keep a folder in step with them. Each export appears in the folder whole.

    Example: gradstream exports clicks --follow clicks-exports
    """
    from gradstream.errors import Invalid

    if into and follow:
        raise Invalid("--into downloads once and --follow goes on; use one of them")
    with connect(url, token_file, timeout=LONG if follow else BRIEF) as client:
        if follow:
            _follow(client, job, follow)
        elif into:
            _download(client, client.find(job), into)
        else:
            _list(client.exports(job), as_json)


def _follow(client: Client, job: str, folder: Path) -> None:
    """Until the job has ended, and its last export is there."""
    from gradstream.cli.terminal.output import talk
    from gradstream.errors import NotFound, Unavailable

    found = client.find(job)
    while True:
        try:
            _download(client, found, folder)
        except NotFound as error:  # none yet, or one that the platform has removed since it was listed
            if found.ended:
                talk(error.message)
                return
        except Unavailable as error:
            talk(f"{error.message}; trying again")
            time.sleep(_RETRY_INTERVAL)
            continue
        if found.ended:
            return
        with suppress(Unavailable):
            found = client.job(found.id, wait=_POLL, since=found.seq)


def _download(client: Client, job: Job, folder: Path) -> None:
    """Raises: NotFound: there is none yet. Unavailable."""
    from gradstream import marker
    from gradstream.process.saving.exports import downloaded_export

    is_new = not folder.exists() or not any(folder.iterdir())
    numbers = client.download_exports(job.id, into=folder)
    if is_new:
        marker.write_marker(folder, "download", job=str(job.id))
    for number in numbers:
        print(downloaded_export(folder, number), flush=True)


def _until(moment: datetime) -> str:
    from gradstream.cli.terminal.output import duration

    return duration(max(0.0, (moment - datetime.now(UTC)).total_seconds()))


def _list(found: list[JobExport], as_json: bool) -> None:
    from gradstream.cli.terminal.output import ago, number, print_json, print_table, size

    if as_json:
        print_json({"items": [each.as_dict() for each in found]})
        return
    rows = []
    for each in found:
        rests_on = "base" if each.base else number(each.after)
        counts = (number(each.version), number(each.passes), number(each.rows), number(each.gone))
        nbytes = size(each.size) if each.size else ""
        state = f"{each.state}, next in {_until(each.next_at)}" if each.next_at else each.state
        rows.append((str(each.number), state, rests_on, *counts, nbytes, ago(each.committed_at or each.asked_at)))
    print_table((">export", "state", ">rests on", ">version", ">pass", ">rows", ">gone", ">size", "time"), rows)

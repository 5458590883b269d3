"""`gradstream jobs`"""

from __future__ import annotations

from typing import Annotated

import typer

from gradstream.cli.common import AsJson, TokenFile, Url, connect

SORTS = "created, name, status, strategy, user, workers, priority, accuracy, loss, throughput or staleness"


def command(
    status: Annotated[list[str] | None, typer.Option(help="Only jobs in this state; may be repeated")] = None,
    strategy: Annotated[list[str] | None, typer.Option(help="Only jobs of this strategy; may be repeated")] = None,
    user: Annotated[list[str] | None, typer.Option(help="Only jobs of this user; may be repeated")] = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="Only jobs whose name contains this")] = None,
    sort: Annotated[str, typer.Option(help=SORTS)] = "created",
    ascending: Annotated[bool, typer.Option("--ascending", help="The least first; of created, the oldest")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Go on after a list that said there is more")] = None,
    as_json: AsJson = False, url: Url = None, token_file: TokenFile = None,
) -> None:  # fmt: skip
    """List jobs, newest first unless --sort says otherwise.

    Example: gradstream jobs --status running --status queued
    """
    from gradstream.cli import output

    with connect(url, token_file) as client:
        page = client.jobs(
            limit=limit,
            cursor=cursor,
            status=status,
            strategy=strategy,
            user=user,
            q=query,
            sort=sort,
            descending=not ascending,
        )
    if as_json:
        output.print_json(page.as_dict())
        return
    output.print_table(
        ("id", "name", "status", "strategy", ">samples", ">accuracy", "created", ""),
        [
            (
                str(job.id)[:8], job.name, output.status(job.status), f"{job.strategy} {job.gate}", f"{job.progress.samples:,}",
                output.number(job.progress.eval.get("accuracy")), output.ago(job.created_at), _remark(job.status, job.message),
            )
            for job in page.items
        ],
    )  # fmt: skip
    if page.next_cursor:
        output.talk(f"there are more: --cursor {page.next_cursor}")


def _remark(status: str, message: str | None) -> str:
    return message or "" if status not in ("succeeded", "running") else ""

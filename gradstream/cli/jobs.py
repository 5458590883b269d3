"""`gradstream jobs`"""

from __future__ import annotations

from typing import Annotated

import typer

from gradstream.cli import completion
from gradstream.cli.common import AsJson, TokenFile, Url, connect

_LARGEST_PAGE = 200
SORTS = "created, name, status, strategy, user, workers, priority, accuracy, loss, throughput or staleness"


def command(
    status: Annotated[
        list[str] | None,
        typer.Option(help="Only jobs in this state; may be repeated", autocompletion=completion.complete_status),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(help="Only jobs of this strategy; may be repeated", autocompletion=completion.complete_strategy),
    ] = None,
    user: Annotated[list[str] | None, typer.Option(help="Only jobs of this user; may be repeated")] = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="Only jobs whose name contains this")] = None,
    sort: Annotated[str, typer.Option(help=SORTS)] = "created",
    ascending: Annotated[bool, typer.Option("--ascending", help="The least first; of created, the oldest")] = False,
    limit: Annotated[int, typer.Option(min=1, max=_LARGEST_PAGE, help="How many")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Continue behind a page; --json has the cursor as next_cursor")] = None,
    as_json: AsJson = False, url: Url = None, token_file: TokenFile = None,
) -> None:  # fmt: skip
    """List jobs, newest first unless --sort says otherwise.

    Example: gradstream jobs --status running --status queued
    """
    from gradstream.cli import output

    _refuse_unknown_strategies(strategy or [])
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
    if not page.items:
        output.talk("No job matches." if status or strategy or user or query else "There are no jobs yet.")
        return
    columns = ("id", output.Column("name", wraps=True), "status", output.Column("strategy", optional=True))
    numbers = (output.Column("samples", right=True, optional=True), output.Column("accuracy", right=True, optional=True))
    output.print_table(
        (*columns, *numbers, output.Column("created", optional=True), output.Column("reason", wraps=True)),
        [
            (
                str(job.id)[:8], job.name, output.status(job.status), f"{job.strategy} {job.gate}", f"{job.progress.samples:,}",
                output.number(job.progress.eval.get("accuracy")), output.ago(job.created_at), _remark(job.status, job.message),
            )
            for job in page.items
        ],
    )  # fmt: skip
    if page.next_cursor and limit < _LARGEST_PAGE:
        output.talk(f"There are more jobs; show up to {_LARGEST_PAGE} with --limit.")
    elif page.next_cursor:
        output.talk(f"There are more jobs; show them with --cursor {page.next_cursor}")


def _refuse_unknown_strategies(names: list[str]) -> None:
    """Raises: BadParameter."""
    from difflib import get_close_matches

    from gradstream.strategies import STRATEGIES

    for name in names:
        if name not in STRATEGIES:
            close = get_close_matches(name, STRATEGIES, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(STRATEGIES)}"
            raise typer.BadParameter(f"there is no strategy '{name}'; {hint}", param_hint="--strategy")


def _remark(status: str, message: str | None) -> str:
    return message or "" if status not in ("succeeded", "running") else ""

"""`gradstream jobs`"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.api.base import LARGEST_PAGE
from gradstream.cli import completion
from gradstream.cli.common import AsJson, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.api.jobs import JobPage, JobSummary

_SORTS = "created, name, status, strategy, user, workers, priority, accuracy, loss, throughput, staleness, or a setting or result"

_Status = Annotated[
    list[str] | None,
    typer.Option(help="Only jobs in this state; may be repeated", autocompletion=completion.complete_status),
]
_Strategy = Annotated[
    list[str] | None,
    typer.Option(help="Only jobs of this strategy; may be repeated", autocompletion=completion.complete_strategy),
]
_User = Annotated[list[str] | None, typer.Option(help="Only jobs of this user; may be repeated")]
_Tag = Annotated[list[str] | None, typer.Option(help="Only jobs with this tag; may be repeated, and then all are needed")]
_Archived = Annotated[bool, typer.Option("--archived", help="List archived jobs instead")]
_Query = Annotated[str | None, typer.Option("--query", "-q", help="Only jobs whose name contains this")]
_Ascending = Annotated[
    bool | None,
    typer.Option("--ascending/--descending", help="Default: the best, newest or largest first; names and states from a to z"),
]
_Limit = Annotated[int, typer.Option(min=1, max=LARGEST_PAGE, help="Number of jobs")]
_Columns = Annotated[
    str | None,
    typer.Option(help="Settings and results to show, with commas between: lr,batch_size,eval/accuracy,max:eval/accuracy"),
]
_Where = Annotated[
    list[str] | None,
    typer.Option(help="Only jobs whose setting or result fits, such as 'lr>=0.1'; may be repeated, and then all hold"),
]
_Cursor = Annotated[str | None, typer.Option(help="Continue after a page: its next_cursor, which --json prints")]


def command(
    status: _Status = None,
    strategy: _Strategy = None,
    user: _User = None,
    tag: _Tag = None,
    archived: _Archived = False,
    query: _Query = None,
    where: _Where = None,
    columns: _Columns = None,
    sort: Annotated[str, typer.Option(help=_SORTS)] = "created",
    ascending: _Ascending = None,
    limit: _Limit = 20,
    cursor: _Cursor = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """List jobs, newest first unless --sort says otherwise.

    Example: gradstream jobs --status running --status queued
    """
    from gradstream.cli.terminal import output

    _refuse_unknown_strategies(strategy or [])
    fields = [field.strip() for field in (columns or "").split(",") if field.strip()]
    order = {"sort": sort} if sort in _ORDERS else {"by": sort}
    with connect(url, token_file) as client:
        page = client.jobs(
            limit=limit,
            cursor=cursor,
            status=status,
            strategy=strategy,
            user=user,
            tag=tag,
            archived="only" if archived else None,
            q=query,
            where=where,
            columns=fields or None,
            **order,
            descending=not (sort in _LEAST_FIRST if ascending is None else ascending),
        )
    if as_json:
        output.print_json(page.as_dict())
    elif not page.items:
        filtered = status or strategy or user or tag or archived or query or where
        output.talk("No job matches." if filtered else "There are no jobs yet.")
    else:
        _print_jobs(page, sort, fields)
        _tell_of_more(page, limit)


def _tell_of_more(page: JobPage, limit: int) -> None:
    from gradstream.cli.terminal import output

    if page.next_cursor and limit < LARGEST_PAGE:
        output.talk(f"There are more jobs; show up to {LARGEST_PAGE} with --limit.")
    elif page.next_cursor:
        output.talk(f"There are more jobs; show them with --cursor {page.next_cursor}")


def _print_jobs(page: JobPage, sort: str, fields: Sequence[str]) -> None:
    """Columns that were asked for stand in place of the numbers that every list has."""
    from gradstream.cli.terminal import output

    jobs, shown = page.items, _SORTED.get(sort)
    tags = [output.Column("tags", wraps=True)] if any(job.tags for job in jobs) else []
    columns = (
        output.Column("id"),
        output.Column("name", wraps=True),
        *tags,
        output.Column("status"),
        output.Column("strategy", optional=True),
    )
    numbers = [output.Column(name, right=True, optional=True) for name in ("samples", "evaluation") if not fields]
    numbers += [output.Column(field, right=True) for field in fields] + ([output.Column(sort, right=True)] if shown else [])
    output.print_table(
        (*columns, *numbers, output.Column("created", optional=True), output.Column("reason", wraps=True)),
        [
            (
                str(job.id)[:8],
                job.name,
                *([", ".join(job.tags)] if tags else []),
                output.status(job.status),
                f"{job.strategy} {job.gate}",
                *([] if fields else [f"{job.progress.samples:,}", _evaluation(job)]),
                *(_field(page.values.get(job.id, {}).get(field)) for field in fields),
                *([shown(job)] if shown else []),
                output.ago(job.created_at),
                _remark(job.status, job.message),
            )
            for job in jobs
        ],
    )


def _field(value: str | float | bool | None) -> str:
    from gradstream.cli.terminal.output import number

    if isinstance(value, float) and len(repr(value)) > _LONGEST_NUMBER:
        return number(value)
    return "" if value is None else str(value)


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


def _evaluation(job: JobSummary) -> str:
    """The metric that the job is judged by: `accuracy 0.97`."""
    from gradstream.cli.terminal.output import number

    name = job.progress.main_metric
    return f"{name} {number(job.progress.eval.get(name))}" if name else ""


def _loss(job: JobSummary) -> str:
    from gradstream.cli.terminal.output import number

    return "NaN" if job.progress.not_finite else number(job.progress.loss)


def _throughput(job: JobSummary) -> str:
    from gradstream.cli.terminal.output import number

    return f"{number(job.progress.samples_per_second)}/s" if job.progress.samples_per_second is not None else ""


def _staleness(job: JobSummary) -> str:
    from gradstream.cli.terminal.output import number

    return number(job.progress.mean_staleness)


_LONGEST_NUMBER = 8
"""Letters of a number that is printed as the job file has it."""
_ORDERS = frozenset(_SORTS.partition(", or")[0].split(", "))
_LEAST_FIRST = frozenset({"name", "status", "strategy", "user", "loss", "staleness"})
_SORTED: dict[str, Callable[[JobSummary], str]] = {
    "loss": _loss,
    "throughput": _throughput,
    "staleness": _staleness,
    "user": lambda job: job.user,
    "workers": lambda job: str(job.workers),
    "priority": lambda job: str(job.priority),
}
"""Columns that a list shows only when it is sorted by them."""

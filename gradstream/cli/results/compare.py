"""`gradstream compare`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli import completion
from gradstream.cli.common import AsJson, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.api.charts import JobTarget
    from gradstream.client import Client


def command(
    jobs: Annotated[
        list[str],
        typer.Argument(
            metavar="JOB...", help="Ids, beginnings of ids, or names (their newest jobs)", autocompletion=completion.complete_job
        ),
    ],
    target: Annotated[float, typer.Option(help="The value to reach")],
    metric: Annotated[str, typer.Option(help="The metric that must reach it")] = "eval/accuracy",
    at_least: Annotated[
        bool | None, typer.Option("--at-least/--at-most", help="Reached from below or from above; default: the better direction")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """When each job first reached a target: after which time, how many samples, how many bytes sent. The quickest first.

    Example: gradstream compare digits-sync digits-easgd --metric eval/loss --target 0.2
    """
    from gradstream.cli.terminal.output import Column, print_json, print_table, talk

    with connect(url, token_file) as client:
        found = [client.find(job).id for job in jobs]
        rising = _rising(client, metric) if at_least is None else at_least
        goal = {"at_least" if rising else "at_most": target}
        answer = client.targets(found, metric, **goal)
    if as_json:
        print_json(answer.as_dict())
        return
    columns = (
        "job",
        Column("name", wraps=True),
        Column("strategy", optional=True),
        Column("status", optional=True),
        ">after",
        ">samples",
        Column("version", right=True, optional=True),
        Column("sent", right=True, optional=True),
        ">value",
        Column("", wraps=True),
    )
    print_table(columns, [_row(item) for item in answer.items])
    if any(_is_coarse(item) for item in answer.items):
        talk("Evaluations that are far apart find a target late; 'evaluate: {every: 1000 samples}' makes jobs comparable")
    for id in answer.missing:
        talk(f"the job {id} was deleted")


def _rising(client: Client, metric: str) -> bool:
    """Raises: BadParameter: the metric does not say which values are better."""
    better = {entry["name"]: entry["better"] for entry in client.catalogue()}.get(metric, "neither")
    if better == "neither":
        raise typer.BadParameter(f"say --at-least or --at-most: nothing tells which values of {metric} are better")
    return bool(better == "higher")


def _row(item: JobTarget) -> tuple[str, ...]:
    from gradstream.cli.terminal.output import duration, number, size

    head = (str(item.job)[:8], item.name, item.strategy, item.status)
    if item.reached is None:
        return (*head, "never", "", "", "", "", "nothing measured" if item.best is None else f"best {number(item.best)}")
    r = item.reached
    costs = duration(r.seconds), f"{r.samples:,}", f"{r.version:,}", size(round(r.sent_bytes))
    return (*head, *costs, number(r.value), _coarse(item))


def _is_coarse(item: JobTarget) -> bool:
    """More than a fifth of what it took lies between the evaluation that reached the target and the one before."""
    r = item.reached
    return r is not None and r.samples - (r.samples_before or 0) > r.samples / 5


def _coarse(item: JobTarget) -> str:
    assert item.reached is not None, "only what was reached is coarse"
    return f"some time after {item.reached.samples_before or 0:,} samples" if _is_coarse(item) else ""

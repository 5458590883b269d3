"""`gradstream importance`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli import completion
from gradstream.cli.common import AsJson, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.api.charts import Importance, SettingImportance

_FIGURE = "A metric for its last value, min: or max: before it, or loss, staleness, seconds, samples or speed"


def command(
    jobs: Annotated[
        list[str],
        typer.Argument(
            metavar="JOB", help="Ids, beginnings of ids, or names (their newest jobs)", autocompletion=completion.complete_job
        ),
    ],
    figure: Annotated[str, typer.Option(help=_FIGURE)] = "eval/loss",
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Rank the settings that differ between ended jobs by how well they explain a figure, with a random forest.

    Example: gradstream importance --figure min:eval/loss $(gradstream jobs --tag sweep --json | jq -r '.items[].id')
    """
    from gradstream.cli.terminal.output import print_json, print_table

    with connect(url, token_file) as client:
        found = client.importance([client.find(job).id for job in jobs], figure)
    if as_json:
        print_json(found.as_dict())
        return
    if found.settings:
        print_table(("setting", ">importance", ">spread", "stands out", "direction"), [_row(each) for each in found.settings])
    _talk(found)


def _row(item: SettingImportance) -> tuple[str, ...]:
    from gradstream.cli.terminal.output import number

    yes = "yes" if item.stands_out else ""
    return " = ".join(item.settings), number(item.importance), number(item.spread), yes, _direction(item)


def _direction(item: SettingImportance) -> str:
    from gradstream.cli.terminal.output import number

    if item.levels:
        return ", ".join(f"{level.value}: {number(level.mean)}" for level in item.levels)
    return "" if item.correlation is None else f"rank correlation {item.correlation:+.2f}"


def _talk(found: Importance) -> None:
    from gradstream.cli.terminal.output import talk

    if found.reason:
        talk(found.reason, "yellow")
    elif found.r2 is not None and found.needed_r2 is not None:
        said = f"{found.runs} runs, out-of-bag R² {found.r2:.2f}"
        doubt = f"; below {found.needed_r2:.2f} the importances say nothing: compare more runs, or settings that matter"
        talk(said if found.believed else f"{said}{doubt}", "" if found.believed else "yellow")
    for count, why in ((len(found.running), "have not ended"), (len(found.without), f"have no finite value of {found.figure}")):
        if count:
            talk(f"jobs left out because they {why}: {count}")
    for id in found.missing:
        talk(f"the job {id} was deleted")

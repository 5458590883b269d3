"""`gradstream metrics`"""

from __future__ import annotations

import csv
import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect
from gradstream.metrics import FORMULA

if TYPE_CHECKING:
    from gradstream.client import Client, Job

_COLUMNS = ("attempt", "source", "name", "rank", "step", "samples", "version", "time", "value")


def command(
    job: JobReference,
    name: Annotated[list[str] | None, typer.Option("--name", help="Only this metric, e.g. train/loss; may be repeated")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Every stored point, as CSV")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Print a job's metrics: the last value of each; all points with --csv; 800 columns of a chart with --json.

    Example: gradstream metrics digits --name train/staleness --csv > staleness.csv
    """
    with connect(url, token_file) as client:
        found = client.find(job)
        if as_csv:
            _points(client, found, name)
        else:
            _charts(client, found, name, as_json)


def _points(client: Client, job: Job, names: list[str] | None) -> None:
    out = csv.writer(sys.stdout)
    out.writerow(_COLUMNS)
    for batch in client.metrics(job.id, names=names):
        for point_name, rank, *rest in batch.points:
            shown = f"'{point_name}" if re.match(FORMULA, point_name) else point_name
            out.writerow([batch.attempt, batch.source, shown, rank, *rest])


def _charts(client: Client, job: Job, names: list[str] | None, as_json: bool) -> None:
    from gradstream.cli.terminal.output import number, print_json, print_table

    wanted = names or client.measured(job.id)
    found = client.charts(job.id, wanted, x="step") if as_json else client.charts(job.id, wanted, x="time", columns=1)
    if as_json:
        print_json({chart.name: [series.as_dict() for series in chart.series] for chart in found if chart.series})
        return
    units = {entry["name"]: entry["unit"] for entry in client.catalogue()}
    print_table(
        ("metric", "from", ">worker", ">last", "unit", ">points"),
        [
            (
                chart.name,
                series.source,
                str(series.rank) if series.rank >= 0 else "",
                number(series.columns.last[-1]),
                units.get(chart.name, ""),
                str(series.total),
            )
            for chart in found
            for series in chart.series
        ],
    )

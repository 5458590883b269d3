"""`gradstream metrics`"""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.client import Client, Job
    from gradstream.client.models import Series

_COLUMNS = ("name", "source", "rank", "step", "samples", "version", "time", "value")
_ENOUGH_FOR_THE_LAST = 10


def command(
    job: JobReference,
    name: Annotated[list[str] | None, typer.Option("--name", help="Only this metric, e.g. train/loss; may be repeated")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Every stored point, as CSV")] = False,
    as_json: AsJson = False, url: Url = None, token_file: TokenFile = None,
) -> None:  # fmt: skip
    """Print a job's metrics: the last value of each; all points with --csv; series, thinned if long, with --json.

    Example: gradstream metrics digits --name train/staleness --csv > staleness.csv
    """
    with connect(url, token_file) as client:
        found = client.find(job)
        if as_csv:
            _points(client, found, name)
        else:
            _series(client, found, name, as_json)


def _points(client: Client, job: Job, names: list[str] | None) -> None:
    out = csv.writer(sys.stdout)
    out.writerow(_COLUMNS)
    for batch in client.metrics(job.id, names=names):
        for point_name, rank, *rest in batch.points:
            out.writerow([point_name, batch.source, rank, *rest])


def _series(client: Client, job: Job, names: list[str] | None, as_json: bool) -> None:
    from gradstream.cli.output import number, print_json, print_table

    units = {entry["name"]: entry["unit"] for entry in client.catalogue()}
    wanted = names or [*units, *(f"eval/{key}" for key in job.progress.eval if f"eval/{key}" not in units)]
    most = 2000 if as_json else _ENOUGH_FOR_THE_LAST
    found: dict[str, list[Series]] = {one: client.series(job.id, one, max_points=most) for one in wanted}
    if as_json:
        print_json({one: [series.as_dict() for series in several] for one, several in found.items() if several})
        return
    print_table(
        ("metric", "from", ">worker", ">last", "unit", ">step"),
        [
            (one, series.source, str(series.rank) if series.rank >= 0 else "", number(series.points[-1][4]), units.get(one, ""),
             str(series.points[-1][0]))
            for one, several in found.items() for series in several if series.points
        ],
    )  # fmt: skip

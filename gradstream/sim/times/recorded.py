"""How long the mini-batches of a recorded job took, from its own metrics: speeds for a simulation.

A file is what `gradstream metrics JOB --name time/compute --csv` prints, or `metrics.parquet` of `gradstream download JOB`. A
point of `time/compute` is the seconds of one push, and its `step` the mini-batches of that worker so far: so two points say what
one mini-batch took. A worker's first push pays for whatever starts up once, so it is left out when there are others.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from gradstream import metrics
from gradstream.errors import Invalid
from gradstream.sim.times.speeds import Recorded

Point = tuple[int, int, float]
"""Rank, mini-batches of that rank so far, seconds."""


def read(path: Path) -> Recorded:
    """Raises: Invalid; OSError."""
    points = _from_parquet(path) if path.suffix == ".parquet" else _from_csv(path)
    taken: dict[int, list[float]] = defaultdict(list)
    last: dict[int, int] = {}
    for rank, step, seconds in sorted(points):
        made = step - last.get(rank, 0)
        if made > 0 and seconds > 0:
            taken[rank].append(seconds / made)
        last[rank] = step
    if not taken:
        raise Invalid(
            f"{path} holds no {metrics.COMPUTE.name} of a worker; write one with "
            f"`gradstream metrics JOB --name {metrics.COMPUTE.name} --csv > FILE`"
        )
    return Recorded(tuple(tuple(found[1:] or found) for _, found in sorted(taken.items())))


def _from_csv(path: Path) -> list[Point]:
    with path.open(newline="") as file:
        rows = csv.DictReader(file)
        if not {"name", "rank", "step", "value"} <= set(rows.fieldnames or ()):
            raise Invalid(f"{path} has not the columns of `gradstream metrics JOB --csv`: name, rank, step and value")
        try:
            mine = (row for row in rows if row["name"] == metrics.COMPUTE.name)
            return [(int(row["rank"]), int(row["step"]), float(row["value"])) for row in mine]
        except ValueError as error:
            raise Invalid(f"{path}, line {rows.line_num}: {error}") from error


def _from_parquet(path: Path) -> list[Point]:
    try:
        from pyarrow import ArrowInvalid
        from pyarrow import parquet as pq
    except ImportError as error:
        raise Invalid("reading a .parquet file needs pyarrow: pip install 'gradstream[server]', or give a CSV file") from error
    try:
        table = pq.read_table(path, columns=["name", "rank", "step", "value"])
    except (ArrowInvalid, KeyError) as error:
        raise Invalid(f"{path} is not a metrics file of a job: {error}") from error
    return [(row["rank"], row["step"], row["value"]) for row in table.to_pylist() if row["name"] == metrics.COMPUTE.name]

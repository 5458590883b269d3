"""Fills a folder with clicks, a file every few seconds: `python fill.py FOLDER`. Ends with Ctrl-C, or after `--files`."""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import pyarrow
from clicklog import FIELDS, clicks
from pyarrow import parquet

HELD_OUT = 20_000


def write(file: Path, first: int, count: int) -> None:
    """Write examples of the log, and behind them the marker that the file is complete."""
    ids, clicked = clicks(np.arange(first, first + count))
    columns = {f"id_{field}": ids[:, field] for field in range(FIELDS)}
    parquet.write_table(pyarrow.table(columns | {"click": clicked.astype(np.int64)}), file)
    Path(f"{file}.done").touch()


def fill(folder: Path, examples: int, every: float, files: int | None) -> None:
    (folder / "held-out").mkdir(parents=True, exist_ok=True)
    write(folder / "held-out" / "clicks.parquet", 0, HELD_OUT)
    there = len(list(folder.glob("*.done")))  # of an earlier run
    for number in itertools.count(there) if files is None else range(there, files):
        write(folder / f"clicks-{number:06}.parquet", HELD_OUT + number * examples, examples)
        time.sleep(every)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--examples", type=int, default=20_000, help="of one file")
    parser.add_argument("--every", type=float, default=5, help="seconds between two files")
    parser.add_argument("--files", type=int, help="how many; default: no end")
    given = parser.parse_args()
    fill(given.folder, given.examples, given.every, given.files)

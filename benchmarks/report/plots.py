"""How figures look: on a white ground of their own, so that a dark page shows them as a light one does; in colours that
colour-blind readers can tell apart, with a marker for each line as well. The same numbers give the same bytes."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.report.lab import write

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe, Ito
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
matplotlib.rcParams.update(STYLE)


def panels(
    columns: int, rows: int = 1, *, width: float = 8.4, height: float = 2.9, share: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure and its panels, row by row. `height`: inches of each row."""
    figure = Figure(figsize=(width, height * rows), layout="constrained", facecolor="white")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share)
    return figure, [axis for row in axes for axis in row]


def lines(axis: Axes, named: Mapping[str, Mapping[Any, float]], **options: Any) -> None:
    """A line for each name: x -> y. Points that are missing are left out."""
    for (name, points), colour, marker in zip(named.items(), cycle(COLOURS), cycle(MARKERS), strict=False):
        if points:
            axis.plot(list(points), list(points.values()), color=colour, marker=marker, label=name, **options)


def doubling(axis: Axes, values: Sequence[float], label: str) -> None:
    """An x axis on which each of `values` has a mark, at equal distances if each is twice the one before."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(list(values), [f"{value:g}" for value in values])
    axis.minorticks_off()
    axis.set_xlabel(label)


def save(figure: Figure, path: Path) -> None:
    """As PNG without a date or a version, whole or not at all."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110, metadata={"Software": None})
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, content.getvalue())

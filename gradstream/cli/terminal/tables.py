"""Tables: aligned and coloured at a terminal, one row a line in a pipe or a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gradstream.cli.terminal.visible import make_visible

_GAP = 2
_LEAST_TEXT = 16
"""Characters that a column of text keeps at a narrow terminal, as long as optional columns can be left out instead."""


class Column(NamedTuple):
    """A column that is shown whole, unless it may wrap or may be left out at a narrow terminal."""

    name: str
    right: bool = False
    wraps: bool = False
    optional: bool = False


Cell = str | Text


def print_table(columns: Sequence[str | Column], rows: Sequence[Sequence[Cell]]) -> None:
    """Print rows to stdout. A name that begins with `>` stands for a column that is flush right."""
    table = [
        column if isinstance(column, Column) else Column(column.removeprefix(">"), column.startswith(">")) for column in columns
    ]
    console = Console(highlight=False, color_system=None if "NO_COLOR" in os.environ else "auto")
    if console.is_terminal:
        _print_for_people(console, table, [[_visible(cell) for cell in row] for row in rows])
    else:
        _print_for_programs(table, rows)


def _visible(cell: Cell) -> Text:
    """As a `Text`: Rich takes brackets in a string for markup."""
    return Text(make_visible(cell.plain), cell.style) if isinstance(cell, Text) else Text(make_visible(cell))


def _print_for_programs(columns: list[Column], rows: Sequence[Sequence[Cell]]) -> None:
    lines = [[column.name for column in columns], *([" ".join(str(cell).split()) for cell in row] for row in rows)]
    widths = [max(cell_len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        cells = [_fill(cell, width, column.right) for cell, width, column in zip(line, widths, columns, strict=True)]
        print((" " * _GAP).join(cells).rstrip())


def _print_for_people(console: Console, columns: list[Column], rows: Sequence[Sequence[Cell]]) -> None:
    widths = [max(cell_len(str(cell)) for cell in (column.name, *(row[at] for row in rows))) for at, column in enumerate(columns)]
    shown = _choose_columns(columns, widths, console.width)
    needed = sum(_least(columns[at], widths[at]) for at in shown) + _GAP * (len(shown) - 1)
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, _GAP, 0, 0))
    for at in shown:
        column = columns[at]
        least = _least(column, widths[at])
        table.add_column(
            _visible(column.name),
            justify="right" if column.right else "left",
            no_wrap=not column.wraps,
            min_width=least,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(row[at] for at in shown))
    console.width = max(console.width, needed)  # a row that is too wide runs on in the next line, uncut
    console.print(table)


def _choose_columns(columns: list[Column], widths: list[int], available: int) -> list[int]:
    """The columns that fit; optional ones are left out from the right."""
    shown = list(range(len(columns)))
    for at in reversed(range(len(columns))):
        if sum(_least(columns[i], widths[i]) + _GAP for i in shown) - _GAP <= available:
            break
        if columns[at].optional:
            shown.remove(at)
    return shown


def _least(column: Column, width: int) -> int:
    return min(width, _LEAST_TEXT) if column.wraps else width


def _column(given: str | Column) -> Column:
    return given if isinstance(given, Column) else Column(given.removeprefix(">"), right=given.startswith(">"))


def _fill(cell: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space

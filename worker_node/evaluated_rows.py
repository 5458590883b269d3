"""The embedding rows of an evaluation split: an evaluator names their keys once, and then they come with each center."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradstream.center.tables.payload import LOAN, FoundRows, RowKeys

if TYPE_CHECKING:
    from gradstream.model.rows.working_rows import WorkingRows


def find_keys(rows: WorkingRows, score: Callable[[], object]) -> dict[str, RowKeys]:
    """Return the keys that `score` looks up, which gets rows of zeros."""
    rows.held.look_up = partial(_zeros, rows.widths)
    score()
    return rows.held.keys()


def _zeros(widths: Mapping[str, int], keys: Mapping[str, RowKeys]) -> dict[str, FoundRows]:
    return {name: _zeros_of(widths[name], of_table.keys) for name, of_table in keys.items()}


def _zeros_of(width: int, keys: np.ndarray[tuple[int], np.dtype[np.int64]]) -> FoundRows:
    return FoundRows(keys, np.zeros((len(keys), width), np.float32), np.zeros(len(keys), LOAN))

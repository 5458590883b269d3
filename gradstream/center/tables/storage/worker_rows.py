"""Rows and gradients of a worker in a checkpoint: tensors by column, with loans that outlive the places of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from gradstream.center.tables.payload import BY_KEY, LOAN, FoundRows, RowGradients

Columns = Mapping[str, torch.Tensor]
T = TypeVar("T", FoundRows, RowGradients)


def saved_rows(rows: FoundRows | RowGradients) -> dict[str, torch.Tensor]:
    """Return a copy of the columns. That of loans has shape (keys, 2): incarnation and updates."""
    columns = {column.name: getattr(rows, column.name) for column in fields(rows)}
    columns["loans"] = np.stack([rows.loans["incarnation"], rows.loans["updates"]], axis=1).astype(np.int64)
    return {name: torch.from_numpy(np.array(values)) for name, values in columns.items()}


def loaded_rows(kind: type[T], saved: Columns) -> T:
    """Return rows that `saved_rows` has saved. Servers find them by their keys, as places may be others now."""
    columns = {name: np.array(values.numpy()) for name, values in saved.items()}  # kernels take what can be written to
    return kind(**{**columns, "loans": _loans(columns["loans"])})


def _loans(saved: NDArray[np.int64]) -> NDArray[np.void]:
    loans = np.empty(len(saved), LOAN)
    loans["place"], loans["incarnation"], loans["updates"] = BY_KEY, saved[:, 0], saved[:, 1]
    return loans

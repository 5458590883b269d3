"""The columns of rows and candidates, as they leave a table and come into one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TableContents:
    """Columns of rows, then of candidates (`waiting`)."""

    keys: NDArray[np.int64]
    values: NDArray[np.float32]
    """Weights, then the state of the rule."""
    updates: NDArray[np.uint32]
    seen: NDArray[np.uint32]
    incarnations: NDArray[np.uint32]
    events: NDArray[np.float32]
    """Shows and clicks."""
    waiting: NDArray[np.int64]
    waiting_occurrences: NDArray[np.uint32]
    waiting_seen: NDArray[np.uint32]
    waiting_events: NDArray[np.float32]

    def columns(self) -> dict[str, NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def rows_alone(self) -> TableContents:
        """Leave the candidates out."""
        return replace(self, **{name: values[:0] for name, values in self.columns().items() if name.startswith("waiting")})

    def tensors(self) -> dict[str, torch.Tensor]:
        """The columns as torch stores them: unsigned numbers as int64."""
        stored = {name: values.astype(np.int64) if values.dtype.kind == "u" else values for name, values in self.columns().items()}
        return {name: torch.from_numpy(values) for name, values in stored.items()}

    @classmethod
    def of_tensors(cls, columns: Mapping[str, torch.Tensor]) -> Self:
        """Rows of files that tell no incarnations have the first one."""
        columns = {"incarnations": torch.ones(len(columns["keys"]), dtype=torch.int64), **columns}
        return cls(**{name: values.numpy() for name, values in columns.items()})


_ROWS = {"keys": (torch.int64, 1), "values": (torch.float32, 2), "updates": (torch.int64, 1), "seen": (torch.int64, 1)}
_LATER = {"incarnations": (torch.int64, 1)}
"""Absent from files of earlier versions."""
_WAITING = {"waiting": (torch.int64, 1), "waiting_occurrences": (torch.int64, 1), "waiting_seen": (torch.int64, 1)}
_EVENTS = (torch.float32, 2)


def are_columns(tensors: Mapping[str, torch.Tensor]) -> bool:
    """Return whether these are the columns of rows and candidates, by name, dtype and shape."""
    later = {name: kind for name, kind in _LATER.items() if name in tensors}
    parts = {**_ROWS, **later, "events": _EVENTS}, {**_WAITING, "waiting_events": _EVENTS}
    if tensors.keys() != parts[0].keys() | parts[1].keys():
        return False
    events = tensors["events"], tensors["waiting_events"]
    return all(_is_part(tensors, part) for part in parts) and all(each.shape[1] == 2 for each in events)


def _is_part(tensors: Mapping[str, torch.Tensor], part: Mapping[str, tuple[torch.dtype, int]]) -> bool:
    fit = all((tensors[name].dtype, tensors[name].ndim) == kind for name, kind in part.items())
    return fit and len({len(tensors[name]) for name in part}) == 1

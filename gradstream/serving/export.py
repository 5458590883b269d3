"""One export, as a reader sees it: rows and dense model of one place in the log. It never changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gradstream.center.tables.payload import LOAN, FoundRows
from gradstream.errors import Invalid, InvalidWorkload
from gradstream.nn.embedding import TableModule, widths_of
from gradstream.nn.gradients import TableForwards
from gradstream.nn.ids import checked_ids
from gradstream.process.saving.exports import ExportManifest
from gradstream.serving.reading import apply_export, read_dense
from gradstream.serving.rows import ExportedRows


class ExportSnapshot:
    def __init__(self, root: Path, manifest: ExportManifest, rows: Mapping[str, ExportedRows]) -> None:
        self.manifest, self._rows = manifest, rows
        self._dense = read_dense(root, manifest)

    @classmethod
    def read(cls, root: Path, chain: list[ExportManifest], before: ExportSnapshot | None) -> ExportSnapshot:
        """`chain`: of `chain_until`. Raises: Invalid: a file is missing or damaged."""
        rows = before._rows if before and chain[0].after is not None else None
        for manifest in chain:
            rows = apply_export(root, manifest, rows)
        return cls(root, chain[-1], rows or {})

    @property
    def number(self) -> int:
        return self.manifest.number

    @property
    def version(self) -> int:
        """The version of the center."""
        return self.manifest.exported.version

    @property
    def widths(self) -> dict[str, int]:
        """By table."""
        return {name: rows.described.width for name, rows in self._rows.items()}

    def look_up(self, table: str, ids: torch.Tensor) -> torch.Tensor:
        """Return the rows of ids, float32 of shape (*ids.shape, width), on the CPU.

        An id without a row reads what it reads in training: its first values, or 0 in a table with `admit` and with FTRL. A row
        of zeros is a row. Raises: Invalid: there is no such table. InvalidWorkload: the ids are not whole numbers."""
        values = self._found(table).look_up(_flat(checked_ids(table, ids)))
        return torch.from_numpy(values).view(*ids.shape, values.shape[1])

    def keys(self, table: str) -> torch.Tensor:
        """Return all ids that have a row, in order. Raises: Invalid: there is no such table."""
        return torch.from_numpy(self._found(table).keys())

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The parameters and buffers of the model, of the same place in the log. They map files: copy them before a change."""
        return dict(self._dense)

    def load_into(self, model: nn.Module) -> None:
        """Give the model these parameters and buffers, and let its `Embedding` and `EmbeddingBag` modules read this export.

        Raises: InvalidWorkload: the model has other tables. RuntimeError: it has other parameters."""
        modules = [module for module in model.modules() if isinstance(module, TableModule)]
        for name, width in widths_of(modules).items():
            if self.widths.get(name) != width:
                there = ", ".join(f"'{each}' of width {size}" for each, size in self.widths.items()) or "no tables"
                raise InvalidWorkload(
                    f"the model has a table '{name}' of width {width}, and the export has {there}; use the job's model"
                )
        model.load_state_dict(self._dense)
        for module in modules:
            module.bind(_ExportForwards(self._rows[module.table]))

    def _found(self, table: str) -> ExportedRows:
        try:
            return self._rows[table]
        except KeyError as error:
            raise Invalid(f"the export has no table '{table}'; it has {', '.join(self._rows) or 'none'}") from error


class _ExportForwards(TableForwards):
    def __init__(self, rows: ExportedRows) -> None:
        super().__init__(rows.name, lambda keys: FoundRows(keys, rows.look_up(keys), np.zeros(len(keys), LOAN)), sums=False)


def _flat(ids: torch.Tensor) -> NDArray[np.int64]:
    return np.ascontiguousarray(ids.cpu().numpy().ravel())

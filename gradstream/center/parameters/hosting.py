"""The embedding tables of a center. Jobs without tables never import them, since they need numba."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradstream.spec import JobSpec

if TYPE_CHECKING:
    from gradstream.center.tables.hosted import HostedTables
    from gradstream.center.tables.storage.row_file import StoredRows


@dataclass(frozen=True, slots=True)
class TableHosting:
    """Makes the part of one shard."""

    spec: JobSpec
    shard: int
    folder: Path | None = None
    """For rows that are not in memory; None: that of temporary files."""
    rows_in_checkpoints: bool = True
    """False if the caller copies the tables itself, before the next entry."""

    def new_tables(self, widths: Mapping[str, int], epoch_samples: int) -> HostedTables | None:
        """None: the model has no tables. Raises: InvalidWorkload."""
        if not widths:
            return None
        from gradstream.center.tables.hosted import HostedTables

        return HostedTables(self.spec, widths, self.shard, epoch_samples, self.folder)

    def stored_tables(self, center: Mapping[str, Any], rows: Iterable[StoredRows] = ()) -> HostedTables | None:
        """`center`: the state of the same shard's center. `rows`: see `HostedTables.load`."""
        if (state := center.get("tables")) is None:
            return None
        from gradstream.center.tables.hosted import HostedTables

        epoch_samples, _ = center["run_length"]
        return HostedTables.load(self.spec, state, self.shard, epoch_samples, rows, self.folder)

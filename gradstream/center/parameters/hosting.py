"""The embedding tables of a center. Jobs without tables never import them, since they need numba."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gradstream.spec import JobSpec

if TYPE_CHECKING:
    from gradstream.center.tables.hosted import HostedTables
    from gradstream.center.tables.storage.row_file import StoredRows


def new_tables(spec: JobSpec, widths: Mapping[str, int], shard: int, epoch_samples: int) -> HostedTables | None:
    """The part of one shard; None: the model has no tables. Raises: InvalidWorkload."""
    if not widths:
        return None
    from gradstream.center.tables.hosted import HostedTables

    return HostedTables(spec, widths, shard, epoch_samples)


def stored_tables(spec: JobSpec, center: Mapping[str, Any], shard: int, rows: Iterable[StoredRows] = ()) -> HostedTables | None:
    """`center`: the state of the same shard's center. `rows`: see `HostedTables.load`."""
    if (state := center.get("tables")) is None:
        return None
    from gradstream.center.tables.hosted import HostedTables

    epoch_samples, _ = center["run_length"]
    return HostedTables.load(spec, state, shard, epoch_samples, rows)

"""The tables of a job start with the rows of another one, whose rules, settings and number of shards may differ.

Weights stay. So does the state of a rule that is the same in both jobs; another rule begins anew. Shows and clicks are those at the
end of the other job. Each row counts as made and seen in the first pass. With the incarnation that it had there, a later row of
this job could be taken for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.hosted import HostedTables
from gradstream.center.tables.storage.copying import put_piece
from gradstream.center.tables.storage.row_file import StoredRows, TablePiece
from gradstream.center.tables.storage.table_contents import TableContents
from gradstream.center.tables.table import EmbeddingTable
from gradstream.errors import Invalid
from gradstream.spec.tables import AnyRule, FtrlRule, TableSpec


def put_start(hosted: HostedTables, stored: StoredRows, end: Mapping[str, int]) -> None:
    """Put rows of another job on top of those before them, as far as they are of this shard. `end`: the pass of each table there
    when the newest of its rows were stored. Raises: Invalid: these tables cannot start with them."""
    _check_names(stored.times, hosted.tables)
    for name, piece in stored.pieces.items():
        table, origin = hosted.tables[name], stored.specs.get(name)
        contents = _fitted(table, piece.contents, origin, passes=end[name] - stored.times[name])
        put_piece(table, TablePiece(contents, piece.gone))


def _check_names(there: Collection[str], here: Collection[str]) -> None:
    for name in sorted(set(here) - set(there)):
        raise Invalid(f"the other job has no table '{name}'; it has {', '.join(sorted(there))}")
    for name in sorted(set(there) - set(here)):
        raise Invalid(f"the model has no table '{name}', which the other job has; it has {', '.join(sorted(here))}")


def _fitted(table: EmbeddingTable, stored: TableContents, origin: TableSpec | None, passes: int) -> TableContents:
    """`origin`: the table's settings in the other job; None: weights are stored alone. `passes`: that have ended there since."""
    keeps_state = origin is not None and _share_state(origin.rule, table.spec.rule)
    waits = slice(None) if table.spec.admit else slice(0)  # without admission there are no candidates
    decay = np.float32(origin.keep.decay if origin and origin.has_scores and origin.keep and origin.keep.decay else 1)
    return replace(
        stored,
        values=_values(table, stored.values, origin, keeps_state=keeps_state),
        updates=stored.updates if keeps_state else np.zeros_like(stored.updates),
        seen=np.zeros_like(stored.seen),
        incarnations=np.ones_like(stored.incarnations),
        events=_decayed(stored.events, decay, passes),
        waiting=stored.waiting[waits],
        waiting_occurrences=stored.waiting_occurrences[waits],
        waiting_seen=np.zeros_like(stored.waiting_seen[waits]),
        waiting_events=_decayed(stored.waiting_events[waits], decay, passes),
    )


def _values(
    table: EmbeddingTable, stored: NDArray[np.float32], origin: TableSpec | None, *, keeps_state: bool
) -> NDArray[np.float32]:
    rule, width = table.spec.rule, table.width
    if stored.shape[1] != width + (origin.rule.state_size(width) if origin else 0):
        raise Invalid(f"the vectors of table '{table.name}' have another dim in the other job than {width}; use the same dim")
    if keeps_state:
        return stored
    if isinstance(rule, FtrlRule):
        raise Invalid(
            f"table '{table.name}': ftrl computes weights from its state, which is not there; take checkpoint: last of a job whose "
            "table has the rule ftrl, or another rule"
        )
    state = np.full((len(stored), rule.state_size(width)), rule.initial_state, np.float32)
    return np.concatenate([stored[:, :width], state], axis=1)


def _share_state(one: AnyRule, other: AnyRule) -> bool:
    """Each rule can go on with the state of the other."""
    return (one.name, one.state_size(2)) == (other.name, other.state_size(2))


def _decayed(events: NDArray[np.float32], decay: np.float32, passes: int) -> NDArray[np.float32]:
    """One multiplication for each pass, as a shrink does."""
    for _ in range(passes if decay != 1 else 0):
        events = events * decay
    return events

"""An embedding table: lookups, pushes and shrinks of rows that are found by 64-bit keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.cold.tier import ColdTier
from gradstream.center.tables.hashing import BUCKETS, buckets_of, stream_of
from gradstream.center.tables.index import SLOT, BucketIndex
from gradstream.center.tables.keep import NEVER, UNLIMITED, Keeping, shrink
from gradstream.center.tables.memory import fitting_places
from gradstream.center.tables.payload import LOAN, FoundRows
from gradstream.center.tables.push import (
    APPLIED,
    BY_COUNT,
    BY_NOTHING,
    BY_PROBABILITY,
    BY_SCORE,
    COUNTED,
    DROPPED,
    MISSED,
    Admitting,
    PushArrays,
    TableArrays,
    bring_rows,
    look_up,
    resolve,
)
from gradstream.center.tables.rows import EVENTS, META, RowStore
from gradstream.center.tables.rules import apply_rule
from gradstream.center.tables.saving import saved_arrays
from gradstream.errors import Invalid
from gradstream.spec.tables import ScoreWeights, TableSpec

ALL_BUCKETS = range(BUCKETS)
_COLUMNS = META.itemsize + EVENTS.itemsize + 2 * SLOT.itemsize + 4
"""Bytes of memory of a row whose weights lie on the disk, about."""
_PORTION = 1 << 16
"""Keys that are looked up at once in a table that is bounded in memory."""


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The keys of a push by their outcome."""

    applied: int
    counted: int
    missed: int
    dropped: int
    staleness: NDArray[np.int64] = field(repr=False)
    """Updates of the row between the loan and the push; 0 of keys whose gradient is not applied."""

    @property
    def pushed(self) -> int:
        return self.applied + self.counted + self.missed + self.dropped


class EmbeddingTable:
    """Not safe for several threads at once."""

    def __init__(
        self,
        name: str,
        width: int,
        spec: TableSpec,
        seed: int = 0,
        buckets: range = ALL_BUCKETS,
        capacity: int | None = None,
        folder: Path | None = None,
    ) -> None:
        """`buckets`: those whose keys are held here. `capacity`: rows, and candidates, there may be; default: as many as fit
        into the memory of this machine. `folder`: for the file of a table that is bounded in memory; default: that of temporary
        files. Raises: Unavailable: the addresses for so many cannot be reserved, or the file cannot be made."""
        self.name, self.width, self.spec, self.buckets = name, width, spec, buckets
        stride = width + spec.rule.state_size(width)
        memory = spec.memory and max(1, spec.memory.rows * len(buckets) // BUCKETS)
        self.capacity = capacity or fitting_places(_COLUMNS if memory else 4 * stride)
        self.tier = ColdTier(name, memory, self.capacity, stride, folder) if memory else None
        """None: all rows are in memory."""
        self._rows = RowStore(f"table '{name}'", self.capacity, width, stride)
        self._index = BucketIndex(f"the index of table '{name}'", buckets, self.capacity)
        self.arrays = TableArrays(
            self._index.arrays,
            self._rows.arrays(stream_of(seed, name), spec.reach, spec.rule.initial_state, self.tier.frames if self.tier else None),
            _admitting(spec),
            saved_arrays(stride),
        )
        self._keeping = _keeping(spec)
        self.mark = 1
        """Rows carry the mark at which they changed last; whoever copies changed rows counts it up."""
        self.time = 0
        """Number of the pass."""
        self.evicted = self.evicted_rows = 0
        """Rows and candidates that shrinks have removed, and the rows among them."""
        self._made_earlier = 0
        """Rows that the table of an earlier process has made, and this one has not read."""
        self.removed: list[tuple[int, NDArray[np.int64]]] | None = None
        """The keys that each shrink has removed, with the mark of that time; None: no copy needs them."""
        self.complete_copy: Callable[[], None] | None = None
        """Completes the copy that is being made: see `storage.copying`."""

    def look_up(self, keys: NDArray[np.int64]) -> FoundRows:
        """Changes nothing. Raises: Invalid: a key belongs to another shard."""
        keys = np.ascontiguousarray(keys, np.int64)
        self._check_buckets(keys)
        values, loans = np.empty((len(keys), self.width), np.float32), np.empty(len(keys), LOAN)
        if not self.tier:
            look_up(self.arrays, keys, values, loans)
            return FoundRows(keys, values, loans)
        for begin in range(0, len(keys), _PORTION):
            some, before = slice(begin, begin + _PORTION), self.tier.read
            look_up(self.arrays, keys[some], values[some], loans[some])
            self.tier.note_lookups(len(keys[some]), before)
            self._settle_tier()
        return FoundRows(keys, values, loans)

    def push(
        self,
        keys: NDArray[np.int64],
        loans: NDArray[Any],
        gradients: NDArray[np.float32],
        occurrences: NDArray[np.int64],
        clicks: NDArray[np.float32] | None = None,
        factor: float = 1.0,
    ) -> RowOutcome:
        """Apply one gradient per key, or count the key. `keys`: distinct ones that were looked up, with their `loans`.
        `gradients`: summed over `occurrences`. `factor`: of the schedule."""
        count = len(keys)
        push = PushArrays(
            keys,
            loans,
            occurrences,
            np.zeros(count, np.float32) if clicks is None else clicks,
            np.uint32(self.mark),
            np.uint32(self.time),
            np.empty(count, np.int64),
            np.zeros(count, np.int64),
            np.zeros(count, np.int64),
            np.zeros(4, np.int64),
        )
        if self.tier:
            bring_rows(self.arrays, push)
            self.tier.check_reads()
        done, bucket = resolve(self.arrays, push, 0)
        while done < count:
            self.grow_bucket(bucket)
            done, bucket = resolve(self.arrays, push, done)
        apply_rule(self.spec.rule, self.arrays.rows.values, push.places, gradients, push.updates, push.staleness, factor)
        self._settle_tier()
        applied, counted, missed, dropped = (int(push.outcomes[outcome]) for outcome in (APPLIED, COUNTED, MISSED, DROPPED))
        return RowOutcome(applied, counted, missed, dropped, push.staleness)

    def _settle_tier(self) -> None:
        """Move rows to the disk, those beyond the bound. Raises: Unavailable: its file is damaged."""
        if self.tier:
            self.tier.check_reads()
            self.tier.make_room(self.arrays.rows)

    def values_of(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return a copy of weights and states. Raises: Unavailable: see `_settle_tier`."""
        rows = self.arrays.rows
        return self.tier.read_values(rows, places) if self.tier else rows.values[places]

    def put_values(self, places: NDArray[np.int64], values: NDArray[np.float32]) -> None:
        """Replace weights and states of rows that were just made. Raises: Unavailable: see `_settle_tier`."""
        rows = self.arrays.rows
        rows.values[self.tier.frames.at[places] if self.tier else places] = values
        self._settle_tier()

    def check_push(self, keys: NDArray[np.int64], gradients: NDArray[np.float32]) -> None:
        """Kernels trust what is pushed. Raises: Invalid: a gradient is of another width, or a key belongs to another shard."""
        if gradients.shape != (len(keys), self.width):
            raise Invalid(f"table '{self.name}': gradients of shape {gradients.shape} for {len(keys)} keys of width {self.width}")
        self._check_buckets(keys)

    def shrink(self) -> int:
        """End a pass: decay and evict. Return how many rows and candidates are gone."""
        if self.complete_copy and self.spec.has_scores:
            self.complete_copy()  # since a shrink changes the shows and clicks of all rows
        gone_slots, gone, alive = np.zeros(len(self.buckets), np.int64), np.empty(self.alive + self.waiting, np.int64), self.alive
        removed = int(shrink(self.arrays, self._keeping, self.time, gone_slots, gone))
        if self.removed is not None and removed:
            self.removed.append((self.mark, gone[:removed].copy()))
        self.tidy(gone_slots)
        self._settle_tier()
        self.evicted += removed
        self.evicted_rows += alive - self.alive
        self.time += 1
        return removed

    def decay_until(self, time: int) -> None:
        """Decay shows and clicks as the shrinks up to this pass would, without evicting. For rows that were stored earlier."""
        for places in (self.arrays.rows.places, self.arrays.rows.candidate_places):
            used = places.events[: places.counts[0]]
            for _ in range(time - self.time if self.spec.has_scores else 0):
                used["shows"] *= self._keeping.decay
                used["clicks"] *= self._keeping.decay
        self.time = time

    def tidy(self, gone_slots: NDArray[np.int64]) -> None:
        """Make buckets smaller whose keys are gone. `gone_slots`: of each bucket."""
        for bucket in np.flatnonzero(gone_slots):
            self._index.tidy(int(bucket), int(gone_slots[bucket]))

    def grow_bucket(self, bucket: int) -> None:
        """Make place for more keys in a bucket (counted from the first that is held)."""
        self._index.grow(bucket)

    @property
    def alive(self) -> int:
        """Rows."""
        return self._rows.alive

    @property
    def waiting(self) -> int:
        """Candidates: keys that wait for their admission."""
        return self._rows.waiting

    @property
    def made(self) -> int:
        """Rows made so far: those alive and those evicted."""
        return self._made_earlier + self._rows.made

    def restore_counts(self, *, made: int, evicted: int, evicted_rows: int) -> None:
        """Go on with the counts of an earlier process, when its rows are here."""
        self._made_earlier = made - self._rows.made
        self.evicted, self.evicted_rows = evicted, evicted_rows

    @property
    def row_nbytes(self) -> int:
        """Bytes of one row: weights, state, columns, and two slots of the index, as half of them are filled."""
        scores = EVENTS.itemsize if self.spec.has_scores else 0
        return self._rows.row_nbytes + scores + 2 * SLOT.itemsize

    @property
    def cold_row_nbytes(self) -> int:
        """Bytes of memory of a row whose weights lie on the disk; 0: the table is not bounded."""
        values = self.arrays.rows.values
        return self.row_nbytes - values.itemsize * values.shape[1] + self.tier.frames.at.itemsize if self.tier else 0

    @property
    def nbytes(self) -> int:
        """Bytes of rows, candidates and index that the table uses."""
        if not self.tier:
            return self._rows.nbytes + self._index.nbytes
        places = int(self.arrays.rows.places.counts[0]) * self.tier.frames.at.itemsize
        return self._rows.column_nbytes + places + self.tier.nbytes + self._index.nbytes

    def _check_buckets(self, keys: NDArray[np.int64]) -> None:
        if self.buckets == ALL_BUCKETS or not len(keys):
            return
        found = buckets_of(keys)
        if found.min() < self.buckets.start or found.max() >= self.buckets.stop:
            raise Invalid(
                f"table '{self.name}': a key belongs to another shard than that of {self.buckets}; send each its own keys"
            )


def _admitting(spec: TableSpec) -> Admitting:
    weights = spec.score or ScoreWeights()
    kind, least = BY_NOTHING, 0.0
    match spec.admit:
        case None:
            pass
        case admit if admit.count is not None:
            kind, least = BY_COUNT, float(admit.count)
        case admit if admit.probability is not None:
            kind, least = BY_PROBABILITY, admit.probability
        case admit if admit.score is not None:
            kind, least = BY_SCORE, admit.score
    return Admitting(kind, least, spec.has_scores, np.float32(weights.unclicked), np.float32(weights.clicked))


def _keeping(spec: TableSpec) -> Keeping:
    keep = spec.keep
    return Keeping(
        np.float32((keep and keep.decay) or 1),
        float((keep and keep.score) or 0),
        (keep and keep.unseen) or NEVER,
        spec.most // BUCKETS if spec.most else UNLIMITED,
    )

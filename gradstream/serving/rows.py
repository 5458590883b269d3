"""The rows of one table in an export: those of the base, which lie in mapped files, under those of all deltas since.

Nothing here changes. A delta makes new rows, so whoever reads the old ones meanwhile is not disturbed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gradstream.center.tables.hashing import fill_first_values, shards_of, stream_of
from gradstream.process.saving.exports import ExportedTable

Keys = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowPart:
    """The rows of one shard in an export."""

    shard: int
    shards: int
    whole: bool
    files: Sequence[tuple[Keys, torch.Tensor]]
    """Keys and values of each file."""
    gone: Keys


@dataclass(frozen=True, slots=True)
class _BaseRows:
    keys: Keys
    """Sorted."""
    files: NDArray[np.int16]
    places: NDArray[np.int64]
    """The file of each key, and its place there."""
    values: Sequence[torch.Tensor]

    @classmethod
    def of(cls, files: Sequence[tuple[Keys, torch.Tensor]]) -> _BaseRows:
        keys = np.concatenate([np.empty(0, np.int64), *(keys for keys, _ in files)])
        numbers = np.repeat(np.arange(len(files), dtype=np.int16), [len(keys) for keys, _ in files])
        places = np.concatenate([np.empty(0, np.int64), *(np.arange(len(keys)) for keys, _ in files)])
        order = np.argsort(keys)
        return cls(keys[order], numbers[order], places[order], [values for _, values in files])

    def read_into(self, out: NDArray[np.float32], rows: Keys, at: Keys) -> None:
        """Fill these rows of `out`. `at`: of each, its number among the keys."""
        for number, values in enumerate(self.values):
            mine = self.files[at] == number
            if mine.any():
                out[rows[mine]] = values[torch.from_numpy(self.places[at[mine]])].float().numpy()


@dataclass(frozen=True, slots=True)
class _NewerRows:
    """Keys that deltas have changed."""

    keys: Keys
    """Sorted."""
    alive: NDArray[np.bool_]
    """False: a tombstone."""
    values: torch.Tensor

    @classmethod
    def none(cls, width: int, dtype: torch.dtype) -> _NewerRows:
        return cls(np.empty(0, np.int64), np.empty(0, np.bool_), torch.empty(0, width, dtype=dtype))

    def with_changes(self, keys: Keys, values: torch.Tensor, gone: Keys) -> _NewerRows:
        stays = ~np.isin(self.keys, np.concatenate([keys, gone]))
        every = np.concatenate([self.keys[stays], keys, gone])
        alive = np.concatenate([self.alive[stays], np.ones(len(keys), np.bool_), np.zeros(len(gone), np.bool_)])
        nothing = torch.zeros(len(gone), values.shape[1], dtype=values.dtype)
        order = np.argsort(every)
        joined = torch.cat([self.values[torch.from_numpy(stays)], values, nothing])
        return _NewerRows(every[order], alive[order], joined[torch.from_numpy(order)])


@dataclass(frozen=True, slots=True)
class ExportedRows:
    name: str
    seed: int
    described: ExportedTable
    _base: _BaseRows
    _newer: _NewerRows

    @classmethod
    def of_base(cls, name: str, seed: int, described: ExportedTable, parts: Iterable[RowPart], dtype: torch.dtype) -> ExportedRows:
        base = _BaseRows.of([file for part in parts for file in part.files])
        return cls(name, seed, described, base, _NewerRows.none(described.width, dtype))

    def with_delta(self, parts: Iterable[RowPart]) -> ExportedRows:
        """Return the rows after a delta; these stay as they are."""
        newer = self._newer
        for part in parts:
            keys = np.concatenate([np.empty(0, np.int64), *(keys for keys, _ in part.files)])
            values = torch.cat([newer.values[:0], *(values for _, values in part.files)])
            newer = newer.with_changes(keys, values, self._gone_with(part, keys))
        return ExportedRows(self.name, self.seed, self.described, self._base, newer)

    def _gone_with(self, part: RowPart, keys: Keys) -> Keys:
        if not part.whole:
            return part.gone
        there = self.keys()
        return np.setdiff1d(there[shards_of(there, part.shards) == part.shard], keys)

    def keys(self) -> Keys:
        """All keys that have a row, sorted."""
        older = self._base.keys[~np.isin(self._base.keys, self._newer.keys)]
        return np.sort(np.concatenate([older, self._newer.keys[self._newer.alive]]))

    def look_up(self, keys: Keys) -> NDArray[np.float32]:
        """Return the rows of these keys, as a lookup in training gives them: a key without a row reads its first values, or 0 if
        the table admits keys."""
        out = np.zeros((len(keys), self.described.width), np.float32)
        in_newer, at_newer = _find(self._newer.keys, keys)
        rows = np.flatnonzero(in_newer)
        alive = self._newer.alive[at_newer[rows]]
        out[rows[alive]] = self._newer.values[torch.from_numpy(at_newer[rows[alive]])].float().numpy()
        in_base, at_base = _find(self._base.keys, keys)
        rows = np.flatnonzero(in_base & ~in_newer)
        self._base.read_into(out, rows, at_base[rows])
        absent = ~(in_base | in_newer)
        absent[np.flatnonzero(in_newer)[~alive]] = True
        if absent.any() and not self.described.admits:
            first: NDArray[Any] = np.empty((int(absent.sum()), self.described.width), np.float32)
            fill_first_values(stream_of(self.seed, self.name), keys[absent], np.float32(self.described.reach), first)
            out[absent] = first
        return out


def _find(sorted_keys: Keys, keys: Keys) -> tuple[NDArray[np.bool_], Keys]:
    """Return which of the keys are there, and their numbers."""
    if not len(sorted_keys):
        return np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.int64)
    at = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return sorted_keys[at] == keys, at

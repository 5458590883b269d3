"""Rows of tables as they travel beside an entry or a response: keys of a lookup, what it found, gradients of a push.

Each is a mapping by table name. Keys lie in order of their buckets, so the part of each shard is one piece, and the parts of all
shards one after the other are the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.half import RowCodec, decode_rows, encode_rows

LOAN = np.dtype([("place", np.int64), ("incarnation", np.uint32), ("updates", np.uint32)])
"""Where a lookup found a row: its place, incarnation and updates; incarnation 0: there was none."""
BY_KEY = -2
"""The place of a loan from before a resume, when rows lay elsewhere: its row is the key's, if that has the same incarnation."""


@dataclass(frozen=True, slots=True)
class RowKeys:
    """Distinct keys to look up."""

    keys: NDArray[np.int64]


KNOWN = np.dtype([("incarnation", np.uint32), ("updates", np.uint32)])
"""The incarnation and updates of a row when a worker got it."""
UNKNOWN = np.array((2**32 - 1, 2**32 - 1), KNOWN)
"""In place of those of a row that the worker does not have."""


@dataclass(frozen=True, slots=True)
class KnownKeys(RowKeys):
    """Keys of which a worker has some rows: those that it has are not sent again if they lack few enough updates."""

    known: NDArray[Any]
    """The `KNOWN` of each key."""


@dataclass(frozen=True, slots=True)
class FoundRows:
    """The response to a lookup: the values of the rows, and what a push needs to find them again."""

    keys: NDArray[np.int64]
    values: NDArray[Any]
    """Shape (keys, width); float32, or encoded by the table's codec while they travel (`half`)."""
    loans: NDArray[Any]
    """The `LOAN` of each key."""


@dataclass(frozen=True, slots=True)
class RowGradients:
    """One gradient for each of distinct keys that were looked up."""

    keys: NDArray[np.int64]
    loans: NDArray[Any]
    gradients: NDArray[Any]
    """Summed over `occurrences`, shape (keys, width); float32, or encoded by the table's codec while they travel (`half`)."""
    occurrences: NDArray[np.int64]
    clicks: NDArray[np.float32]


AnyRows = RowKeys | FoundRows | RowGradients
T = TypeVar("T", bound=AnyRows)


def of_kind(kind: type[T], rows: Mapping[str, AnyRows] | None) -> dict[str, T]:
    """The rows of a payload, none if it has none. Raises: ValueError: they are of another kind."""
    found: dict[str, T] = {name: of_table for name, of_table in (rows or {}).items() if isinstance(of_table, kind)}
    if len(found) != len(rows or {}):
        raise ValueError(f"these rows are not {kind.__name__}")
    return found


def newer_rows(found: FoundRows, wanted: RowKeys, bound: int) -> FoundRows:
    """Return those of the rows that a worker does not have, or that have more updates than `bound` since it got them."""
    if not isinstance(wanted, KnownKeys):
        return found
    same = found.loans["incarnation"] == wanted.known["incarnation"]
    behind = found.loans["updates"] - wanted.known["updates"]
    return piece(found, np.flatnonzero(~same | (behind > bound)))


def encoded_values(found: FoundRows, codec: RowCodec) -> FoundRows:
    """Return the response to a lookup as it travels."""
    return found if codec == "raw" else replace(found, values=encode_rows(found.values, codec))


def decoded_values(found: FoundRows) -> FoundRows:
    return found if found.values.dtype == np.float32 else replace(found, values=decode_rows(found.values))


def encoded_gradients(rows: RowGradients, codec: RowCodec) -> RowGradients:
    """Return gradients as they travel."""
    return rows if codec == "raw" else replace(rows, gradients=encode_rows(rows.gradients, codec))


def decoded_gradients(rows: RowGradients) -> RowGradients:
    return rows if rows.gradients.dtype == np.float32 else replace(rows, gradients=decode_rows(rows.gradients))


def nbytes(rows: Mapping[str, AnyRows]) -> int:
    return sum(getattr(of_table, column.name).nbytes for of_table in rows.values() for column in fields(of_table))


def piece(rows: T, chosen: slice | NDArray[np.int64]) -> T:
    """The chosen ones of the rows of a table, in this order."""
    return type(rows)(*(getattr(rows, column.name)[chosen] for column in fields(rows)))


def joined(parts: Sequence[T]) -> T:
    """The rows of a table of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    return type(first)(*(np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(first)))


def shard_part(rows: Mapping[str, T], shard: int, shards: int) -> dict[str, T]:
    """The part of one shard, of so many; empty ones of its tables included."""
    if shards == 1:
        return dict(rows)
    from gradstream.center.tables.hashing import buckets_of, buckets_of_shard  # needs numba, which jobs without rows never import

    held, parts = buckets_of_shard(shard, shards), {}
    for name, of_table in rows.items():
        begin, end = np.searchsorted(buckets_of(of_table.keys), [held.start, held.stop])
        parts[name] = piece(of_table, slice(begin, end))
    return parts


def joined_shards(parts: Sequence[Mapping[str, T]]) -> dict[str, T]:
    """The rows whose parts all shards have, in the order of the shards."""
    return {name: joined([part[name] for part in parts]) for name in parts[0]}

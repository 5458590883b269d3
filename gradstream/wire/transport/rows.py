"""The layout of embedding rows in memory, as they travel between processes.

A JSON line names the kind, and the tables with their sizes. The columns of each table follow, each aligned to 8 bytes. Beside the
gradients of a push, the line may name tables that it asks for rows of; their keys come last.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.half import DTYPES
from gradstream.center.tables.payload import KNOWN, LOAN, AnyRows, FoundRows, KnownKeys, RowGradients, RowKeys

_KINDS: dict[str, type[AnyRows]] = {"keys": RowKeys, "found": FoundRows, "gradients": RowGradients}
_NAMES = {kind: name for name, kind in _KINDS.items()} | {KnownKeys: "keys"}
_DTYPES: dict[str, Any] = {
    "keys": np.dtype(np.int64),
    "loans": LOAN,
    "known": KNOWN,
    "occurrences": np.dtype(np.int64),
    "clicks": np.dtype(np.float32),
}
_WIDE = ("values", "gradients")
"""Columns of shape (keys, width), which the table's codec encodes; others have shape (keys,)."""
_CODECS = {dtype: codec for codec, dtype in DTYPES.items()}
_KNOWN_WIDTH = 1
"""The width that tells keys of which a worker has rows from those without."""
_ALIGN = 8
_MAX_WIDTH = 2**31
T = TypeVar("T", bound=AnyRows)


class TravellingRows(NamedTuple):
    """The rows beside an entry or a response, by table."""

    rows: Mapping[str, AnyRows]
    """All of one kind."""
    asks: Mapping[str, RowKeys] | None = None
    """Keys that a push asks for; None: it asks for none."""


class PackedRows:
    """Rows that are about to be packed. Their columns are copied once, into the file or value that they travel in."""

    def __init__(self, rows: Mapping[str, AnyRows], asks: Mapping[str, RowKeys] | None = None) -> None:
        """`rows`, `asks`: see `TravellingRows`."""
        kinds = {_NAMES[type(of_table)] for of_table in rows.values()}
        assert len(kinds) <= 1, "rows of one payload are of one kind"
        tables = [(name, len(of_table.keys), *_wide_column(of_table)) for name, of_table in rows.items()]
        told: dict[str, Any] = {"kind": kinds.pop() if kinds else "keys", "tables": tables}
        if asks is not None:
            told["asks"] = [(name, len(of_table.keys), *_wide_column(of_table)) for name, of_table in asks.items()]
        self._head = json.dumps(told).encode() + b"\n"
        every = (*rows.values(), *(asks or {}).values())
        self._columns = [getattr(of_table, column.name) for of_table in every for column in fields(of_table)]
        self.nbytes = _aligned(len(self._head)) + sum(_aligned(column.nbytes) for column in self._columns)

    def chunks(self) -> Iterator[memoryview]:
        """The bytes in their order, `nbytes` in all."""
        for values in (np.frombuffer(self._head, np.uint8), *self._columns):
            if values.nbytes:
                yield np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
            if padding := _aligned(values.nbytes) - values.nbytes:
                yield memoryview(bytes(padding))


def unpack_rows(memory: memoryview) -> TravellingRows:
    """Return the rows that lie in this memory, without a copy. Raises: ValueError: something else lies there."""
    head = bytes(memory[: _end_of_head(memory)])
    try:
        told = json.loads(head)
        kind, tables = _KINDS[told["kind"]], [_sizes(*of_table) for of_table in told["tables"]]
        asked = None if "asks" not in told else [_sizes(*of_table) for of_table in told["asks"]]
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"the rows' first line is damaged: {error}") from error
    if any(not (0 <= count <= len(memory) and 0 <= width <= _MAX_WIDTH) for _, count, width, _ in tables + (asked or [])):
        raise ValueError(f"the rows' first line is damaged: sizes that {len(memory)} bytes do not hold")
    columns = _Columns(memory, _aligned(len(head)))
    rows = {of_table[0]: columns.take_table(kind, *of_table[1:]) for of_table in tables}
    asks = None if asked is None else {of_table[0]: columns.take_table(RowKeys, *of_table[1:]) for of_table in asked}
    if columns.at != len(memory):
        raise ValueError(f"{len(memory)} bytes instead of {columns.at}")
    return TravellingRows(rows, asks)


class _Columns:
    def __init__(self, memory: memoryview, at: int) -> None:
        self._memory, self.at = memory, at

    def take_table(self, kind: type[T], count: int, width: int, wide_dtype: np.dtype[Any]) -> T:
        known = kind is RowKeys and width == _KNOWN_WIDTH
        of_table: Any = KnownKeys if known else kind
        found: T = of_table(*self.take(of_table, count, width, wide_dtype))
        return found

    def take(self, kind: type[AnyRows], count: int, width: int, wide_dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
        for column in fields(kind):
            is_wide = column.name in _WIDE
            shape, dtype = ((count, width), wide_dtype) if is_wide else ((count,), _DTYPES[column.name])
            values = np.frombuffer(self._memory, dtype, math.prod(shape), self.at).reshape(shape)
            self.at += _aligned(values.nbytes)
            yield values


def _end_of_head(memory: memoryview) -> int:
    at, step = 0, 4096
    while at < len(memory):
        found = bytes(memory[at : at + step]).find(b"\n")
        if found >= 0:
            return at + found + 1
        at += step
    raise ValueError("the rows' first line has no end")


def _wide_column(rows: AnyRows) -> tuple[int] | tuple[int, str]:
    """Return the width, and the codec unless the values are as they are."""
    match rows:
        case KnownKeys():
            return (_KNOWN_WIDTH,)
        case RowKeys():
            return (0,)
        case FoundRows(_, values, _) | RowGradients(_, _, values, _, _):
            codec = _CODECS[values.dtype]
            return (int(values.shape[1]),) if codec == "raw" else (int(values.shape[1]), codec)


def _sizes(name: object, count: Any, width: Any, codec: str = "raw") -> tuple[str, int, int, np.dtype[Any]]:
    """Raises: KeyError, TypeError, ValueError: these are none."""
    return str(name), int(count), int(width), DTYPES[codec]


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN

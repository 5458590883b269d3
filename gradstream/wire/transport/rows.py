"""The layout of embedding rows in memory, as they travel between processes.

A JSON line names the kind, and the tables with their sizes. The columns of each table follow, each aligned to 8 bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradstream.center.tables.payload import LOAN, AnyRows, FoundRows, RowGradients, RowKeys

_KINDS: dict[str, type[AnyRows]] = {"keys": RowKeys, "found": FoundRows, "gradients": RowGradients}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_DTYPES: dict[str, Any] = {
    "keys": np.dtype(np.int64),
    "loans": LOAN,
    "values": np.dtype(np.float32),
    "gradients": np.dtype(np.float32),
    "occurrences": np.dtype(np.int64),
    "clicks": np.dtype(np.float32),
}
_WIDE = ("values", "gradients")
"""Columns of shape (keys, width); others have shape (keys,)."""
_ALIGN = 8
_MAX_WIDTH = 2**31


class PackedRows:
    """Rows that are about to be packed. Their columns are copied once, into the file or value that they travel in."""

    def __init__(self, rows: Mapping[str, AnyRows]) -> None:
        """`rows`: of one kind, by table."""
        kinds = {_NAMES[type(of_table)] for of_table in rows.values()}
        assert len(kinds) <= 1, "rows of one payload are of one kind"
        tables = [(name, len(of_table.keys), _width(of_table)) for name, of_table in rows.items()]
        self._head = json.dumps({"kind": kinds.pop() if kinds else "keys", "tables": tables}).encode() + b"\n"
        self._columns = [getattr(of_table, column.name) for of_table in rows.values() for column in fields(of_table)]
        self.nbytes = _aligned(len(self._head)) + sum(_aligned(column.nbytes) for column in self._columns)

    def chunks(self) -> Iterator[memoryview]:
        """The bytes in their order, `nbytes` in all."""
        for values in (np.frombuffer(self._head, np.uint8), *self._columns):
            if values.nbytes:
                yield np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
            if padding := _aligned(values.nbytes) - values.nbytes:
                yield memoryview(bytes(padding))


def unpack_rows(memory: memoryview) -> dict[str, AnyRows]:
    """Return the rows that lie in this memory, without a copy. Raises: ValueError: something else lies there."""
    head = bytes(memory[: _end_of_head(memory)])
    try:
        told = json.loads(head)
        kind, tables = _KINDS[told["kind"]], [(str(name), int(count), int(width)) for name, count, width in told["tables"]]
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"the rows' first line is damaged: {error}") from error
    if any(not (0 <= count <= len(memory) and 0 <= width <= _MAX_WIDTH) for _, count, width in tables):
        raise ValueError(f"the rows' first line is damaged: sizes that {len(memory)} bytes do not hold")
    columns = _Columns(memory, _aligned(len(head)))
    rows = {name: kind(*columns.take(kind, count, width)) for name, count, width in tables}
    if columns.at != len(memory):
        raise ValueError(f"{len(memory)} bytes instead of {columns.at}")
    return rows


class _Columns:
    def __init__(self, memory: memoryview, at: int) -> None:
        self._memory, self.at = memory, at

    def take(self, kind: type[AnyRows], count: int, width: int) -> Iterator[NDArray[Any]]:
        for column in fields(kind):
            shape = (count, width) if column.name in _WIDE else (count,)
            values = np.frombuffer(self._memory, _DTYPES[column.name], math.prod(shape), self.at).reshape(shape)
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


def _width(rows: AnyRows) -> int:
    match rows:
        case RowKeys():
            return 0
        case FoundRows():
            return int(rows.values.shape[1])
        case RowGradients():
            return int(rows.gradients.shape[1])


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN

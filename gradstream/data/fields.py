"""The fields of a stream's entries as tensors. Numbers are text, and a list is a JSON array."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy
import torch
from torch import Tensor

from gradstream.data.ragged import Ragged
from gradstream.errors import InvalidWorkload

FieldValue = bytes | str
"""Bytes: as written, a number, a list or a text. A str: surely a text, such as a JSON string."""
_SHOWN = 60
"""Bytes of a wrong value that an error shows."""


class FieldsEntry(Protocol):
    """An example of a stream."""

    @property
    def id(self) -> bytes:
        """For errors."""

    def values(self) -> Mapping[bytes, FieldValue] | Mapping[str, FieldValue]:
        """By name. Raises: ValueError: it has no fields; says why."""


class StreamFields:
    def __init__(
        self,
        features: Sequence[str],
        label: str | None,
        label_dtype: torch.dtype,
        ids: Sequence[str],
        hashed: Sequence[str],
        *,
        source: str = "redis_stream",
        encoded: bool = True,
    ) -> None:
        """`source`: the function that users call, for errors. `encoded`: names of fields are bytes. Raises: InvalidWorkload."""
        for name, given in {"features": features, "ids": ids, "hashed": hashed}.items():
            if isinstance(given, str):
                raise InvalidWorkload(f"{source}: give the names of fields as a list, {name}=['{given}']")
        if not (features or ids or hashed):
            raise InvalidWorkload(
                f"{source}: name the fields that the model gets: features=['price'], ids=['user'], hashed=['query']"
            )
        if label_dtype not in (torch.float32, torch.int64):
            raise InvalidWorkload(f"{source}: label_dtype is torch.float32 or torch.int64, not {label_dtype}")
        self._features, self._label, self._ids, self._hashed = list(features), label, list(ids), list(hashed)
        self._label_type = label_dtype
        keys = [*(["features"] if features else []), *([] if label is None else [label]), *ids, *hashed]
        if (ids or hashed) and len(set(keys)) < len(keys):
            raise InvalidWorkload(f"{source}: a batch would have two entries of one name among {', '.join(keys)}; rename a field")
        self._names = {name.encode() if encoded else name: name for name in [*features, *keys[bool(features) :]]}
        self._lists: dict[str, bool] = {}
        """Which fields hold lists."""
        self._width: int | None = None

    def batch(self, stream: object, entries: Sequence[FieldsEntry]) -> Any:
        """Return the batch of these entries. `stream`: for errors. Raises: InvalidWorkload: a field is missing or wrong."""
        columns = _FieldValues(stream, entries, self._names)
        x = self._matrix(columns) if self._features else None
        y = None if self._label is None else self._y(columns, self._label)
        if not (self._ids or self._hashed):
            return x if y is None else (x, y)
        batch: dict[str, Any] = {} if x is None else {"features": x}
        if self._label is not None:
            batch[self._label] = y
        whole = {name: self._column(columns, name, int, _whole_list, "a whole number", _int64) for name in self._ids}
        texts = {name: self._column(columns, name, _text, _text_list, "text", _hashed(name)) for name in self._hashed}
        return batch | whole | texts

    def _y(self, columns: _FieldValues, label: str) -> Tensor:
        if self._label_type == torch.int64:
            return torch.from_numpy(_int64(columns.values(label, _whole_label, "a whole number of 64 bits")))
        return torch.tensor(columns.values(label, float, "a number"), dtype=torch.float32)

    def _matrix(self, columns: _FieldValues) -> Tensor:
        """float32, shape (examples, width)."""
        x = torch.cat([self._wide(columns, name) for name in self._features], 1)
        if self._width not in (None, x.shape[1]):
            raise columns.wrong(0, f"features are {x.shape[1]} wide, and were {self._width}; make all lists equally long")
        self._width = x.shape[1]
        return x

    def _wide(self, columns: _FieldValues, name: str) -> Tensor:
        if not self._holds_lists(columns, name):
            return torch.tensor(columns.values(name, float, "a number"), dtype=torch.float32)[:, None]
        rows = columns.values(name, _number_list, "a list of numbers")
        at = next((at for at, row in enumerate(rows) if len(row) != len(rows[0])), None)
        if at is not None:
            raise columns.wrong(at, f"the list '{name}' has {len(rows[at])} values, and others have {len(rows[0])}")
        return torch.tensor(rows, dtype=torch.float32)

    def _column(
        self,
        columns: _FieldValues,
        name: str,
        one: Callable[[Any], Any],
        many: Callable[[Any], list[Any]],
        what: str,
        join: Callable[[list[Any]], numpy.ndarray[Any, Any]],
    ) -> Tensor | Ragged:
        if not self._holds_lists(columns, name):
            return torch.from_numpy(columns.joined(name, columns.values(name, one, what), join))
        rows = columns.values(name, many, f"a list, each value {what}")
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
        flat = columns.joined(name, [value for row in rows for value in row], join)
        return Ragged(torch.from_numpy(flat), lengths.cumsum(0) - lengths)

    def _holds_lists(self, columns: _FieldValues, name: str) -> bool:
        """Raises: InvalidWorkload: some entries have a list here, and others none."""
        found = [value[:1] == b"[" for value in columns.raw[name]]
        expected = self._lists.setdefault(name, found[0])
        if (not expected) in found:
            at = found.index(not expected)
            raise columns.wrong(at, f"'{name}' is {'no list' if expected else 'a list'}, unlike in entries before; write one form")
        return expected


class _FieldValues:
    """The values of some entries by field."""

    def __init__(self, stream: object, entries: Sequence[FieldsEntry], names: Mapping[Any, str]) -> None:
        self._stream, self._entries = stream, entries
        found: list[Mapping[Any, FieldValue]] = []
        for at, entry in enumerate(entries):
            try:
                found.append(entry.values())
            except ValueError as error:
                raise self.wrong(at, str(error)) from None
        for at, fields in enumerate(found):
            for missing in names.keys() - fields.keys():
                has = ", ".join(map(_as_text, list(fields)[:30]))
                raise self.wrong(at, f"it has no field '{names[missing]}', only {has}")
        self.raw = {name: [fields[key] for fields in found] for key, name in names.items()}

    def values(self, name: str, convert: Callable[[Any], Any], what: str) -> list[Any]:
        """Raises: InvalidWorkload: a value cannot be converted."""
        raw = self.raw[name]
        done: list[Any] = []
        try:
            for value in raw:
                done.append(convert(value))
        except (ValueError, TypeError, OverflowError, RecursionError):
            at = len(done)
            shown = _as_text(raw[at][:_SHOWN]) + ("..." if len(raw[at]) > _SHOWN else "")
            raise self.wrong(at, f"'{name}' is {shown!r}, which is not {what}") from None
        return done

    def joined(self, name: str, values: list[Any], join: Callable[[list[Any]], numpy.ndarray[Any, Any]]) -> numpy.ndarray[Any, Any]:
        try:
            return join(values)
        except OverflowError:
            found = next(value for value in values if not -(2**63) <= value < 2**64)
            raise InvalidWorkload(
                f"{self._stream}: '{name}' holds {found}, which has more than 64 bits; hash it: hashed=['{name}']"
            ) from None

    def wrong(self, at: int, why: str) -> InvalidWorkload:
        id = self._entries[at].id.decode(errors="replace")
        remedy = "Correct the program that writes entries; a new job can start behind this one (start=)"
        return InvalidWorkload(f"{self._stream}, entry {id}: {why}. {remedy}")


def _int64(values: list[int]) -> numpy.ndarray[Any, Any]:
    """Numbers from 2^63 on become the negative ones of the same bits. Raises: OverflowError."""
    try:
        return numpy.array(values, numpy.int64)
    except OverflowError:
        return numpy.array([value - 2**64 if 2**63 <= value < 2**64 else value for value in values], numpy.int64)


def _hashed(name: str) -> Callable[[list[str]], numpy.ndarray[Any, Any]]:
    def join(texts: list[str]) -> numpy.ndarray[Any, Any]:
        from gradstream.nn import hashed  # needs numba, which jobs without tables never import

        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}  # each text is hashed once
        distinct = hashed(list(numbers), name).numpy()
        return distinct[numpy.array([numbers[text] for text in texts], numpy.int64)]

    return join


def _as_text(found: FieldValue) -> str:
    return found if isinstance(found, str) else found.decode(errors="replace")


def _whole_label(value: FieldValue) -> int:
    """Raises: ValueError; OverflowError: it has more than 64 bits."""
    number = int(value)
    if not -(2**63) <= number < 2**64:
        raise OverflowError
    return number


def _text(value: FieldValue) -> str:
    """Raises: ValueError: it has half of a surrogate pair, which is no character."""
    found = value if isinstance(value, str) else value.decode()
    found.encode()
    return found


def _text_list(value: bytes) -> list[str]:
    """Raises: as `_text`."""
    found = _list_of(value, str)
    "".join(found).encode()
    return found


def _whole_list(value: bytes) -> list[int]:
    return _list_of(value, int)


def _number_list(value: bytes) -> list[float]:
    return [float(number) for number in _list_of(value, int, float)]


def _list_of(value: bytes, *kinds: type) -> list[Any]:
    """Raises: ValueError, TypeError, RecursionError."""
    found = json.loads(value)
    if type(found) is not list or not all(type(each) in kinds for each in found):
        raise TypeError
    return found

"""Columns of ids in Parquet files: whole numbers as they are, strings by their hash, lists of either as `Ragged`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

from gradstream.data.ragged import Ragged
from gradstream.errors import InvalidWorkload


def read_ids(file: Path, name: str, column: Any) -> Tensor | Ragged:
    """Return the ids of a pyarrow array, int64. Numbers of uint64 from 2^63 on become the negative ones of the same bits.

    `file`, `name`: for errors. Raises: InvalidWorkload: floats or other types, values that are missing."""
    if column.null_count:
        raise _missing(file, name, column.null_count, "values")
    if not _is_list(column.type):
        return torch.from_numpy(_int64(file, name, column))
    values = column.flatten()
    if values.null_count:
        raise _missing(file, name, values.null_count, "values in lists")
    lengths = numpy.asarray(column.value_lengths()).astype(numpy.int64)
    return Ragged(torch.from_numpy(_int64(file, name, values)), torch.from_numpy(lengths.cumsum() - lengths))


def _is_list(kind: Any) -> bool:
    import pyarrow.types

    return bool(pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind) or pyarrow.types.is_fixed_size_list(kind))


def _int64(file: Path, name: str, values: Any) -> numpy.ndarray[Any, Any]:
    import pyarrow.types

    if pyarrow.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        from gradstream.nn import hashed  # needs numba, which jobs without tables never import

        coded = values.dictionary_encode()  # each text is hashed once
        distinct = hashed(coded.dictionary.to_pylist(), name).numpy()
        return distinct[coded.indices.to_numpy(zero_copy_only=False)]  # type: ignore[no-any-return]
    if pyarrow.types.is_integer(kind):
        numbers = values.to_numpy(zero_copy_only=False)
        return numbers.view(numpy.int64).copy() if kind == pyarrow.uint64() else numbers.astype(numpy.int64)  # type: ignore[no-any-return]
    inexact = ". Floats do not hold all ids, and pandas makes floats of whole numbers where one is missing"
    hint = inexact if pyarrow.types.is_floating(kind) else ""
    raise InvalidWorkload(
        f"{file}: the column '{name}' of ids holds {kind}{hint}; write it as int64, or as strings, which are hashed"
    )


def _missing(file: Path, name: str, count: int, what: str) -> InvalidWorkload:
    return InvalidWorkload(
        f"{file}: {count} {what} of '{name}' are missing (or more); write an id that stands for none, an empty list, or leave the "
        "rows out"
    )

"""IDX files, in which MNIST and its relatives are published.

Two zeros, the type of the values, the number of dimensions, each dimension as 4 bytes, then the values, big-endian.
"""

from __future__ import annotations

import gzip
import math
import os
from pathlib import Path
from typing import Any

import numpy
from torch import Tensor

from gradstream.data.files import existing
from gradstream.data.source import Columns, Source
from gradstream.errors import InvalidWorkload

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_GZIP = b"\x1f\x8b"


def idx(images: str | Path, labels: str | Path | None = None) -> Source:
    """Batches (images, labels), or images alone. Images keep the type of the file; whole numbers of labels become int64.

    The files are memory-mapped: a process holds no copy, and all processes of a machine share the pages. One that is compressed
    with gzip cannot be mapped; it is decompressed into the memory of each process that opens it.

    Raises: InvalidWorkload: a file is missing, is no IDX file, is cut short, or has another number of examples."""
    paths = [images] if labels is None else [images, labels]
    source = Columns([read(existing(path)) for path in paths], [str(path) for path in paths], alone=labels is None)
    return source if labels is None else source.map(_with_long_labels)


def read(path: Path) -> numpy.ndarray[Any, Any]:
    """The array of one file. Raises: InvalidWorkload."""
    with path.open("rb") as file:
        zipped = file.read(2) == _GZIP
    data: bytes | numpy.ndarray[Any, Any]
    if zipped:
        try:
            data = gzip.decompress(path.read_bytes())
        except (EOFError, OSError, ValueError) as error:
            raise InvalidWorkload(f"{path} cannot be decompressed: {error}; copy it again") from error
        size, head = len(data), data[: 4 + 4 * 255]
    else:
        data, size = b"", path.stat().st_size
        with path.open("rb") as file:
            head = file.read(4 + 4 * 255)
    dtype, shape, start = _header(path, head)
    promised = start + math.prod(shape) * dtype.itemsize
    if size != promised:
        raise InvalidWorkload(f"{path} has {size} bytes, but its header promises {promised}; copy it again")
    if zipped or not math.prod(shape):
        return numpy.frombuffer(data, dtype, math.prod(shape), start if zipped else 0).reshape(shape)
    return numpy.memmap(os.fspath(path), dtype, "r", start, shape)


def _with_long_labels(batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    images, labels = batch
    return images, labels if labels.is_floating_point() else labels.long()


def _header(path: Path, head: bytes) -> tuple[numpy.dtype[Any], tuple[int, ...], int]:
    """Type, shape, and where the values begin."""
    dimensions = head[3] if len(head) >= 4 else 0
    start = 4 + 4 * dimensions
    if len(head) < start or head[:2] != b"\0\0" or head[2] not in _TYPES or not dimensions:
        begins = head[:4].hex(" ") or "nothing"
        raise InvalidWorkload(f"{path} is not an IDX file: it begins with {begins}; name a file of that format")
    shape = tuple(int.from_bytes(head[4 + 4 * at : 8 + 4 * at], "big") for at in range(dimensions))
    return numpy.dtype(_TYPES[head[2]]), shape, start

"""Tensors in a `.safetensors` file, read piece by piece: a file of any size takes 1 MiB of memory."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradstream.errors import Conflict

PIECE = 1 << 20
"""Bytes that are read at a time."""
_LONGEST_HEADER = 1 << 26
_DTYPES: dict[str, np.dtype[Any]] = {"I64": np.dtype("<i8"), "F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
_REMEMBERED = 4096


class Damaged(Conflict):
    """A file is not what it was when it was stored."""


class SearchedFile(NamedTuple):
    path: Path
    size: int
    sha256: str
    """As they were stored."""


class FileCheck:
    """Compares files with their checksums, each once as long as it stays as it is."""

    def __init__(self) -> None:
        self._checked: OrderedDict[Path, tuple[int, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def require(self, file: SearchedFile) -> None:
        """Raises: Damaged."""
        try:
            there = file.path.stat()
            if there.st_size != file.size:
                raise Damaged(f"{file.path.name} has {there.st_size:,} bytes and not {file.size:,}")
            stamp = (there.st_ino, there.st_size, there.st_mtime_ns, there.st_ctime_ns)
            with self._lock:
                if self._checked.get(file.path) == stamp:
                    return
            with file.path.open("rb") as opened:
                found = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise Damaged(f"{file.path.name} cannot be read ({error.strerror})") from error
        if found != file.sha256:
            raise Damaged(f"{file.path.name} does not have its checksum")
        with self._lock:
            self._checked[file.path] = stamp
            while len(self._checked) > _REMEMBERED:
                self._checked.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _Tensor:
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int


class StoredTensors:
    def __init__(self, path: Path) -> None:
        """Read the header. Raises: Damaged."""
        self._path = path
        try:
            with path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(min(length, _LONGEST_HEADER)))
            self.metadata: dict[str, str] = header.pop("__metadata__", {})
            self._tensors = {name: _described(entry, 8 + length) for name, entry in header.items() if entry["dtype"] in _DTYPES}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Damaged(f"{path.name} has no header of tensors") from error

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def find(self, name: str, key: int) -> int | None:
        """Return the place of a key in a tensor of keys; None: it is not there, or there is no such tensor. Raises: Damaged."""
        if name not in self._tensors:
            return None
        keys = self._tensors[name]
        if keys.dtype != np.int64 or len(keys.shape) != 1:
            raise Damaged(f"{self._path.name} has no keys in {name}")
        with self._path.open("rb") as file:
            for first in range(0, keys.shape[0], PIECE // 8):
                count = min(PIECE // 8, keys.shape[0] - first)
                found = np.flatnonzero(_read(file, keys, first, count) == key)
                if len(found):
                    return first + int(found[0])
        return None

    def row(self, name: str, place: int) -> NDArray[np.float32]:
        """Return one row of a matrix. Raises: Damaged."""
        matrix = self._tensor(name, 2, place)
        width = matrix.shape[1]
        with self._path.open("rb") as file:
            return _read(file, matrix, place * width, width).astype(np.float32)

    def number(self, name: str, place: int) -> int:
        """Return one of a column of whole numbers. Raises: Damaged."""
        column = self._tensor(name, 1, place)
        with self._path.open("rb") as file:
            return int(_read(file, column, place, 1)[0])

    def _tensor(self, name: str, dimensions: int, place: int) -> _Tensor:
        found = self._tensors.get(name)
        if found is None or len(found.shape) != dimensions or place >= found.shape[0]:
            raise Damaged(f"{self._path.name} has no place {place} in {name}")
        return found


def _read(file: BinaryIO, tensor: _Tensor, first: int, count: int) -> NDArray[Any]:
    """Read so many values. Raises: Damaged."""
    file.seek(tensor.begin + first * tensor.dtype.itemsize)
    raw = file.read(count * tensor.dtype.itemsize)
    if len(raw) != count * tensor.dtype.itemsize:
        raise Damaged(f"{Path(file.name).name} ends too early")
    return np.frombuffer(raw, tensor.dtype)


def _described(entry: Any, values: int) -> _Tensor:
    """`values`: where those of the file begin. Raises: ValueError, KeyError, TypeError: it is damaged."""
    dtype, shape = _DTYPES[entry["dtype"]], tuple(int(count) for count in entry["shape"])
    begin, end = entry["data_offsets"]
    if min(shape, default=0) < 0 or begin < 0 or end - begin != dtype.itemsize * math.prod(shape):
        raise ValueError("a tensor does not have the bytes of its shape")
    return _Tensor(dtype, shape, values + begin)

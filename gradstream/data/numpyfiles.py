"""numpy's files: .npy, and .npz with several arrays."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
from torch import Tensor

from gradstream.data.files import existing
from gradstream.data.source import Columns, Source
from gradstream.errors import InvalidWorkload

_LOCAL_HEADER = 30
"""Bytes of a zip entry's header before its name."""


def arrays(*columns: numpy.ndarray[Any, Any] | Tensor) -> Source:
    """Arrays or tensors that you have, or have mapped yourself: batches (first, second, ...), or of an only one itself."""
    made = [column.numpy() if isinstance(column, Tensor) else column for column in columns]
    return Columns(made, [f"array {number}" for number in range(len(made))], alone=len(made) == 1)


def npy(*paths: str | Path) -> Source:
    """.npy files, memory-mapped: batches (first, second, ...), or of an only one itself. Raises: InvalidWorkload."""
    return Columns([_npy(existing(path)) for path in paths], [str(path) for path in paths], alone=len(paths) == 1)


def npz(path: str | Path, keys: str | Sequence[str]) -> Source:
    """Arrays of an .npz file: batches (first key, second key, ...), or of an only one, given as a text, itself.

    Files of `numpy.savez` are memory-mapped. Files of `numpy.savez_compressed` are decompressed into the memory of each process
    that opens it. Raises: InvalidWorkload: the file is missing or no .npz, a key is not in it, lengths differ."""
    file, wanted = existing(path), [keys] if isinstance(keys, str) else list(keys)
    try:
        with zipfile.ZipFile(file) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    except zipfile.BadZipFile as error:
        raise InvalidWorkload(f"{file} is not an .npz file: {error}; write it with numpy.savez") from error
    for key in wanted:
        if key not in members:
            raise InvalidWorkload(f"{file} has no array '{key}'; it has {', '.join(members) or 'none'}")
    columns = [_member(file, key, members[key]) for key in wanted]
    return Columns(columns, [f"{file}: {key}" for key in wanted], alone=isinstance(keys, str))


def _npy(file: Path) -> numpy.ndarray[Any, Any]:
    try:
        return numpy.load(file, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    except (ValueError, EOFError, OSError) as error:
        raise InvalidWorkload(f"{file} cannot be mapped: {error}; write it with numpy.save, as numbers") from error


def _member(file: Path, key: str, info: zipfile.ZipInfo) -> numpy.ndarray[Any, Any]:
    try:
        if info.compress_type == zipfile.ZIP_STORED:
            return _mapped(file, info)
        with numpy.load(file, allow_pickle=False) as archive:
            return archive[key]  # type: ignore[no-any-return]
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InvalidWorkload(f"{file}: '{key}' cannot be read: {error}; write it with numpy.savez, as numbers") from error


def _mapped(file: Path, info: zipfile.ZipInfo) -> numpy.ndarray[Any, Any]:
    """An entry that lies in the archive as it is."""
    with file.open("rb") as opened:
        opened.seek(info.header_offset)
        local = opened.read(_LOCAL_HEADER)
        opened.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), os.SEEK_CUR)
        version = numpy.lib.format.read_magic(opened)
        read = numpy.lib.format.read_array_header_1_0 if version == (1, 0) else numpy.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(opened)
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        if not numpy.prod(shape, dtype=numpy.int64):
            return numpy.empty(shape, dtype)
        return numpy.memmap(os.fspath(file), dtype, "r", opened.tell(), shape, "F" if fortran else "C")

"""Packing a folder: the same files give the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import stat
import tarfile
from pathlib import Path, PurePosixPath

from gradstream.bundle import limits
from gradstream.bundle.archive import ArchivedFile, Bundle
from gradstream.bundle.limits import MIB
from gradstream.bundle.rules import IGNORE_FILE
from gradstream.bundle.selecting import select_file, select_files
from gradstream.errors import InvalidBundle, Mistake

_REMEDY = f"list what the job does not need in {IGNORE_FILE}, and give data as a path in workload.args"


def pack(path: Path) -> Bundle:
    """Bundle a folder, without what `selecting` leaves out, or a single file.

    A link to a file inside the folder is packed as that file. Raises: InvalidBundle, naming each file that cannot travel,
    or the largest ones when they are too much.
    """
    selected = select_file(path) if path.is_file() else select_files(path)
    if not selected.files:
        left_out = f" (left out: {', '.join(each.path for each in selected.left_out[:5])})" if selected.left_out else ""
        raise InvalidBundle(f"{path} is not there or has no files to bundle{left_out}")
    files = tuple(ArchivedFile(name, source.stat().st_size) for name, source in sorted(selected.files.items()))
    _refuse_too_much(files)
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as squeezed, tarfile.open(fileobj=squeezed, mode="w|") as tar:
        for file in files:
            _add(tar, file, selected.files[file.path])
    data = raw.getvalue()
    if len(data) > limits.MAX_BYTES:
        said = f"the bundle has {len(data) / MIB:.1f} MiB compressed, {limits.MAX_BYTES // MIB} are allowed; {_REMEDY}"
        raise InvalidBundle(said, _largest(files))
    return Bundle(data, hashlib.sha256(data).hexdigest(), files, tuple(selected.left_out))


def _add(tar: tarfile.TarFile, file: ArchivedFile, source: Path) -> None:
    entry = tarfile.TarInfo(file.path)  # owner, group and time stay at their zeros, so that equal files give equal bytes
    entry.size = file.size
    entry.mode = 0o755 if source.stat().st_mode & stat.S_IXUSR else 0o644
    with source.open("rb") as content:
        tar.addfile(entry, content)


def _refuse_too_much(files: tuple[ArchivedFile, ...]) -> None:
    total = sum(file.size for file in files)
    if len(files) > limits.MAX_FILES:
        raise InvalidBundle(f"more than {limits.MAX_FILES:,} files; {_REMEDY}")
    folders = {parent for file in files for parent in PurePosixPath(file.path).parents}
    if len(folders) > limits.MAX_FOLDERS + 1:
        raise InvalidBundle(f"more than {limits.MAX_FOLDERS:,} folders; {_REMEDY}")
    if deep := [file for file in files if file.path.count("/") > limits.MAX_DEPTH]:
        said = f"{len(deep)} files lie in more than {limits.MAX_DEPTH} folders, one in another; {_REMEDY}"
        raise InvalidBundle(said, [Mistake(f"/{file.path}", "lies too deep; move it up") for file in deep[:5]])
    if total > limits.MAX_UNPACKED:
        said = f"{total / MIB:.1f} MiB of files, {limits.MAX_UNPACKED // MIB} are allowed; {_REMEDY}"
        raise InvalidBundle(said, _largest(files))


def _largest(files: tuple[ArchivedFile, ...]) -> list[Mistake]:
    by_size = sorted(files, key=lambda file: -file.size)
    return [Mistake(f"/{file.path}", f"{file.size / MIB:.1f} MiB") for file in by_size[:5]]

"""User code on its way to the nodes: a gzip-compressed tar of regular files, named by the sha256 of its bytes.

    pack     a folder (or one file) -> Bundle      at the submitter's; the same files give the same bytes
    inspect  bytes -> Bundle                       at the API, which never runs or stores what this refuses
    unpack   bytes -> folder                       at the node

The bytes come from anyone, so `inspect` and `unpack` trust nothing in them: no path leaves the folder, nothing but files
and folders is made, and no more is decompressed than the limits below allow.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO

from gradstream.errors import InvalidBundle, Problem

MIB = 1024 * 1024
MAX_BYTES = 64 * MIB
"""Of a bundle as it travels."""
MAX_UNPACKED = 256 * MIB
"""Of a bundle unpacked, tar headers included."""
MAX_FILES = 10_000
IGNORE_FILE = ".gradstreamignore"
"""In the packed folder's root; the syntax of .gitignore. `!pattern` takes one of the defaults back in."""
IGNORED = (
    ".git/", ".hg/", ".svn/", "__pycache__/", "*.py[co]", ".venv/", "venv/", "node_modules/", "*.egg-info/", ".mypy_cache/",
    ".ruff_cache/", ".pytest_cache/", ".ipynb_checkpoints/", ".idea/", ".vscode/", ".DS_Store", ".env",
)  # fmt: skip
_REMEDY = f"list what the job does not need in {IGNORE_FILE}, and give data as a path in workload.args"
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class BundledFile:
    path: str
    """Relative to the bundle's root, with `/` between its parts."""
    size: int


@dataclass(frozen=True, slots=True)
class Bundle:
    data: bytes
    hash: str
    """sha256 of `data`, in hex."""
    files: tuple[BundledFile, ...]

    def holds(self, entrypoint: str) -> bool:
        """Whether the module of `module:Class` is among the files."""
        module = entrypoint.partition(":")[0].replace(".", "/")
        paths = {file.path for file in self.files}
        return f"{module}.py" in paths or f"{module}/__init__.py" in paths


def pack(path: Path) -> Bundle:
    """Bundle a folder, without what its ignore file names, or a single file.

    A link to a file inside the folder is packed as that file. Raises: InvalidBundle, naming each file that cannot travel,
    or the largest ones when they are too much.
    """
    sources = {path.name: path} if path.is_file() else dict(islice(_walk(path), MAX_FILES + 1))
    if not sources:
        raise InvalidBundle(f"{path} is not there or has no files to bundle")
    files = tuple(BundledFile(name, source.stat().st_size) for name, source in sorted(sources.items()))
    _refuse_too_much(files)
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as squeezed, tarfile.open(fileobj=squeezed, mode="w|") as tar:
        for file in files:
            _add(tar, file, sources[file.path])
    data = raw.getvalue()
    if len(data) > MAX_BYTES:
        said = f"the bundle has {len(data) / MIB:.1f} MiB compressed, {MAX_BYTES // MIB} are allowed; {_REMEDY}"
        raise InvalidBundle(said, _largest(files))
    return Bundle(data, hashlib.sha256(data).hexdigest(), files)


def inspect(data: bytes) -> Bundle:
    """Check bytes that claim to be a bundle and list their files, writing nothing.

    Raises: InvalidBundle, with one problem per entry that must not be unpacked.
    """
    files = tuple(BundledFile(path, member.size) for path, member, _ in _entries(data))
    return Bundle(data, hashlib.sha256(data).hexdigest(), files)


def unpack(data: bytes, into: Path) -> None:
    """Write a bundle's files, read-only, below `into`, which is made and must be empty.

    Raises: InvalidBundle, before anything is written, under the same conditions as `inspect`.
    """
    inspect(data)
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise InvalidBundle(f"{into} is not empty")
    for path, member, content in _entries(data):
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o555 if member.mode & stat.S_IXUSR else 0o444
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as out:
            while block := content.read(MIB):
                out.write(block)


def _walk(root: Path) -> Iterator[tuple[str, Path]]:
    """The files of a folder that are not ignored, by their path in the bundle."""
    from pathspec import GitIgnoreSpec

    own = root / IGNORE_FILE
    ignored = GitIgnoreSpec.from_lines([*IGNORED, *(own.read_text().splitlines() if own.is_file() else [])])
    problems = []
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        inside = here.relative_to(root)
        folders[:] = sorted(name for name in folders if not ignored.match_file(f"{(inside / name).as_posix()}/"))
        links = [name for name in folders if (here / name).is_symlink()]
        for name in sorted(names) + links:
            path = (inside / name).as_posix()
            if ignored.match_file(path):
                continue
            if reason := _cannot_travel(here / name, root):
                problems.append(Problem(f"/{path}", reason))
            else:
                yield path, here / name
    if problems:
        raise InvalidBundle(f"{len(problems)} of the files in {root} cannot be bundled", problems)


def _cannot_travel(source: Path, root: Path) -> str | None:
    real = source.resolve()
    if not real.is_relative_to(root.resolve()):
        return f"is a link that leaves the folder; copy the file in its place, or list it in {IGNORE_FILE}"
    if not real.is_file():
        kind = "a link to a folder or to nothing" if source.is_symlink() else "not a regular file"
        return f"is {kind}; list it in {IGNORE_FILE}"
    if _CONTROL.search(source.name):
        return "has a control character or a backslash in its name; rename it"
    return None if os.access(source, os.R_OK) else f"cannot be read; allow it, or list it in {IGNORE_FILE}"


def _add(tar: tarfile.TarFile, file: BundledFile, source: Path) -> None:
    entry = tarfile.TarInfo(file.path)  # owner, group and time stay at their zeros, so that equal files give equal bytes
    entry.size = file.size
    entry.mode = 0o755 if source.stat().st_mode & stat.S_IXUSR else 0o644
    with source.open("rb") as content:
        tar.addfile(entry, content)


def _refuse_too_much(files: tuple[BundledFile, ...]) -> None:
    total = sum(file.size for file in files)
    if len(files) > MAX_FILES:
        raise InvalidBundle(f"more than {MAX_FILES:,} files; {_REMEDY}")
    if total > MAX_UNPACKED:
        raise InvalidBundle(f"{total / MIB:.1f} MiB of files, {MAX_UNPACKED // MIB} are allowed; {_REMEDY}", _largest(files))


def _largest(files: tuple[BundledFile, ...]) -> list[Problem]:
    by_size = sorted(files, key=lambda file: -file.size)
    return [Problem(f"/{file.path}", f"{file.size / MIB:.1f} MiB") for file in by_size[:5]]


class _Bounded(io.RawIOBase):
    """Reads what `source` decompresses to, up to MAX_UNPACKED: a bomb is noticed while it goes off, not after."""

    def __init__(self, source: gzip.GzipFile) -> None:
        self._source = source
        self._left = MAX_UNPACKED

    def read(self, size: int = -1) -> bytes:
        block = self._source.read(size if 0 <= size <= MIB else MIB)
        self._left -= len(block)
        if self._left < 0:
            raise InvalidBundle(f"it unpacks to more than {MAX_UNPACKED // MIB} MiB")
        return block


def _entries(data: bytes) -> Iterator[tuple[str, tarfile.TarInfo, IO[bytes]]]:
    """The regular files of a bundle, in their order, each readable until the next one is asked for."""
    if len(data) > MAX_BYTES:
        raise InvalidBundle(f"the bundle has {len(data) / MIB:.1f} MiB, {MAX_BYTES // MIB} are allowed")
    source = _Bounded(gzip.GzipFile(fileobj=io.BytesIO(data)))
    checks = _Checks()
    try:
        with tarfile.open(fileobj=source, mode="r|") as tar:
            for member in tar:
                path = checks.accept(member)
                content = tar.extractfile(member) if path else None
                if path and content:
                    yield path, member, content
        while source.read():
            pass  # to the end, where gzip compares its checksum
    except (tarfile.TarError, EOFError, OSError, zlib.error, ValueError) as error:
        raise InvalidBundle(f"not a whole gzip-compressed tar file: {error}") from error
    checks.finish()


class _Checks:
    """What may be in a bundle, seen one entry at a time."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._problems: list[Problem] = []

    def accept(self, member: tarfile.TarInfo) -> str | None:
        """The normal path of a file that may be unpacked; None for folders and for what is refused."""
        path = PurePosixPath(member.name)
        name = path.as_posix()
        if reason := self._refusal(member, path):
            readable = name.encode("utf-8", "replace").decode()
            self._problems.append(Problem(f"/{readable}", reason))
        elif member.isdir():
            self._folders.add(name)
        elif len(self._files) >= MAX_FILES:
            raise InvalidBundle(f"more than {MAX_FILES:,} files")
        else:
            self._files.add(name)
            self._folders.update(str(parent) for parent in path.parents)
            return name
        if len(self._problems) >= 20:
            self.finish()
        return None

    def _refusal(self, member: tarfile.TarInfo, path: PurePosixPath) -> str | None:
        name = path.as_posix()
        if path.is_absolute():
            return "is an absolute path"
        if ".." in path.parts:
            return "leads out of the bundle with '..'"
        if member.issym() or member.islnk():
            return "is a link; put the file itself there (tar --dereference)"
        if not (member.isfile() or member.isdir()) or member.issparse() or (name == "." and not member.isdir()):
            return "is neither a plain file nor a folder"
        if _CONTROL.search(name) or len(name) > 1000 or any(len(part.encode()) > 255 for part in path.parts):
            return "has a name that is too long, or has a control character or a backslash in it"
        if any(str(parent) in self._files for parent in path.parents) or name in self._files:
            return "is there twice"
        return "is there twice, as a file and as a folder" if member.isfile() and name in self._folders else None

    def finish(self) -> None:
        if self._problems:
            raise InvalidBundle(f"{len(self._problems)} entries cannot be unpacked", self._problems)
        if not self._files:
            raise InvalidBundle("there is no file in it")

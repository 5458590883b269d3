"""Reading bundles. The bytes come from anyone, so nothing in them is trusted: no path leaves the folder, nothing but files and
folders is made, and no more is decompressed than the limits allow."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from gradstream.bundle import limits
from gradstream.bundle.archive import CONTROL, MIB, Bundle, BundledFile
from gradstream.bundle.credentials import SCANNED, credential_in
from gradstream.errors import InvalidBundle, Problem

_SEARCHED = 4 * MIB
"""Bytes of a bundle that `inspect` searches for credentials: who sends it has searched all of it."""


def inspect(data: bytes) -> Bundle:
    """Check bytes that claim to be a bundle and list their files, writing nothing. What looks like a credential has a warning.

    Raises: InvalidBundle, with one problem per entry that must not be unpacked.
    """
    files, left = [], _SEARCHED
    for path, member, content in _entries(data):
        beginning = content.read(min(SCANNED, left))
        left -= len(beginning)
        files.append(BundledFile(path, member.size, credential_in(path, member.size, beginning)))
    return Bundle(data, hashlib.sha256(data).hexdigest(), tuple(files))


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


class _Bounded(io.RawIOBase):
    """Reads what `source` decompresses to, up to limits.MAX_UNPACKED: a bomb is noticed while it goes off, not after."""

    def __init__(self, source: gzip.GzipFile) -> None:
        self._source = source
        self._left = limits.MAX_UNPACKED

    def read(self, size: int = -1) -> bytes:
        block = self._source.read(size if 0 <= size <= MIB else MIB)
        self._left -= len(block)
        if self._left < 0:
            raise InvalidBundle(f"it unpacks to more than {limits.MAX_UNPACKED // MIB} MiB")
        return block


def _entries(data: bytes) -> Iterator[tuple[str, tarfile.TarInfo, IO[bytes]]]:
    """The regular files of a bundle, in their order, each readable until the next one is asked for."""
    if len(data) > limits.MAX_BYTES:
        raise InvalidBundle(f"the bundle has {len(data) / MIB:.1f} MiB, {limits.MAX_BYTES // MIB} are allowed")
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
        elif len(self._files) >= limits.MAX_FILES:
            raise InvalidBundle(f"more than {limits.MAX_FILES:,} files")
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
        if CONTROL.search(name) or len(name) > 1000 or any(len(part.encode()) > 255 for part in path.parts):
            return "has a name that is too long, or has a control character or a backslash in it"
        if any(str(parent) in self._files for parent in path.parents) or name in self._files:
            return "is there twice"
        return "is there twice, as a file and as a folder" if member.isfile() and name in self._folders else None

    def finish(self) -> None:
        if self._problems:
            raise InvalidBundle(f"{len(self._problems)} entries cannot be unpacked", self._problems)
        if not self._files:
            raise InvalidBundle("there is no file in it")

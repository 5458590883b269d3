"""Reading bundles. The bytes come from anyone, so the reader trusts none of them: no path leaves the folder, it makes only files
and folders, and it decompresses no more than the limits allow."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gradstream.bundle import limits
from gradstream.bundle.archive import CONTROL, MIB, ArchivedFile, Bundle
from gradstream.bundle.credentials import SCANNED, credential_in
from gradstream.bundle.tarball import TarEntry, read_members
from gradstream.errors import InvalidBundle, Mistake

_SEARCHED = 4 * MIB
"""Bytes of a bundle that `inspect` searches for credentials; the sender has searched all of it."""


def inspect(data: bytes) -> Bundle:
    """Check bytes that claim to be a bundle and list their files, writing nothing. Likely credentials get a warning.

    Raises: InvalidBundle, with one problem per entry that must not be unpacked.
    """
    files, left = [], _SEARCHED
    for path, member in read_files(data):
        beginning = member.read(min(SCANNED, left))
        left -= len(beginning)
        files.append(ArchivedFile(path, member.size, credential_in(path, member.size, beginning)))
    return Bundle(data, hashlib.sha256(data).hexdigest(), tuple(files))


def unpack(data: bytes, into: Path) -> None:
    """Write a bundle's files, read-only, below `into`, which is made and must be empty.

    Raises: InvalidBundle, before anything is written, under the same conditions as `inspect`.
    """
    for _ in read_files(data):
        pass
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise InvalidBundle(f"{into} is not empty")
    for path, member in read_files(data):
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o555 if member.executable else 0o444
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as out:
            while block := member.read(MIB):
                out.write(block)


def read_files(data: bytes) -> Iterator[tuple[str, TarEntry]]:
    """Yield the files of a bundle with their normal paths, in their order; each is readable until the next one is yielded.

    Raises: InvalidBundle, at the latest after the last file."""
    if len(data) > limits.MAX_BYTES:
        raise InvalidBundle(f"the bundle has {len(data) / MIB:.1f} MiB, {limits.MAX_BYTES // MIB} are allowed")
    checks = _Checks()
    for member in read_members(data):
        if path := checks.accept(member):
            yield path, member
    checks.finish()


class _Checks:
    """Checks the entries of a bundle, one at a time."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = {"."}
        self._entries = 0
        self._problems: list[Mistake] = []

    def accept(self, member: TarEntry) -> str | None:
        """Return the normal path of a file that may be unpacked; None for folders and for refused entries."""
        self._count_entry()
        path = PurePosixPath(member.name)
        name = path.as_posix()
        reason = self._refusal(member, path)
        if reason is None and not self._enter_folders(path if member.kind == "folder" else path.parent):
            reason = "is there twice"
        if reason is not None:
            readable = name[:1000].encode("utf-8", "replace").decode()
            self._problems.append(Mistake(f"/{readable}", reason))
        elif member.kind == "file":
            self._files.add(name)
            if len(self._files) > limits.MAX_FILES:
                raise InvalidBundle(f"more than {limits.MAX_FILES:,} files")
            return name
        if len(self._problems) >= 20:
            self.finish()
        return None

    def _count_entry(self) -> None:
        self._entries += 1
        if self._entries > limits.MAX_FILES + limits.MAX_FOLDERS:
            raise InvalidBundle(f"more than {limits.MAX_FILES:,} files and {limits.MAX_FOLDERS:,} folders")

    def _refusal(self, member: TarEntry, path: PurePosixPath) -> str | None:
        name = path.as_posix()
        if path.is_absolute():
            return "is an absolute path"
        if ".." in path.parts:
            return "leads out of the bundle with '..'"
        if member.kind == "link":
            return "is a link; put the file itself there (tar --dereference)"
        if member.kind == "other" or (name == "." and member.kind == "file"):
            return "is neither a plain file nor a folder"
        if CONTROL.search(name) or len(name) > 1000 or any(len(part.encode()) > 255 for part in path.parts):
            return "has a name that is too long, or has a control character or a backslash in it"
        if len(path.parts) - (member.kind == "file") > limits.MAX_DEPTH:
            return f"lies in more than {limits.MAX_DEPTH} folders, one in another; move it up"
        if member.kind == "file" and name in self._files:
            return "is there twice"
        return "is there twice, as a file and as a folder" if member.kind == "file" and name in self._folders else None

    def _enter_folders(self, path: PurePosixPath) -> bool:
        """Note a folder and those above it, up to one that is known. False: one of them is a file."""
        name = path.as_posix()
        while name not in self._folders:
            if name in self._files:
                return False
            self._folders.add(name)
            if len(self._folders) > limits.MAX_FOLDERS + 1:
                raise InvalidBundle(f"more than {limits.MAX_FOLDERS:,} folders")
            name = name.rpartition("/")[0] or "."
        return True

    def finish(self) -> None:
        """Raise InvalidBundle if an entry was refused, or if there is no file."""
        if self._problems:
            raise InvalidBundle(f"{len(self._problems)} entries cannot be unpacked", self._problems)
        if not self._files:
            raise InvalidBundle("there is no file in it")

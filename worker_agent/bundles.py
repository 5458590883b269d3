"""User code on this node: fetched once per bundle, checked against its hash, unpacked read-only, shared by its processes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Set
from pathlib import Path

import structlog

from gradstream import bundle
from gradstream.errors import InvalidBundle
from worker_agent import aside

log = structlog.get_logger(__name__)

KEPT = 32
"""Bundles that stay on disk, the last used ones; beside them those that processes use."""
CLEANING_BOUND = 20.0
"""Seconds that the first jobs wait for old bundles to be removed; then the rest of them stays until the next start."""


class Bundles:
    def __init__(
        self, folder: Path, fetch: Callable[[str], Awaitable[bytes]], *, verify: bool = False, for_accounts: bool = False
    ) -> None:
        """`verify`: user code may reach the files of others here, so each use looks whether they are what was unpacked.
        `for_accounts`: processes run under accounts of their own, which have to read it."""
        self._folder, self._fetch, self._verify = folder, fetch, verify
        self._mode = 0o755 if for_accounts else 0o700
        self._digests = dict[str, bytes]()
        """Digests of unpacked bundles; kept in memory, where no job can change them."""
        self._locks: dict[str, asyncio.Lock] = {}
        self._cleaning: asyncio.Future[None] | None = None
        self._enough = threading.Event()
        self._until = 0.0
        folder.mkdir(parents=True, exist_ok=True)

    def clean(self) -> None:
        """Begin to drop what is old, beside the loop; whoever needs a bundle waits until that is done or has taken too long."""
        self._until = time.monotonic() + CLEANING_BOUND
        self._cleaning = aside.begin(self.drop_old, "cleaning")

    async def folder_of(self, hash: str) -> Path:
        """The folder with the bundle's files.

        Raises: InvalidBundle: damaged on its way, or not to be trusted; and what `fetch` raises."""
        await self._cleaned()
        async with self._locks.setdefault(hash, asyncio.Lock()):  # five processes ask at once for one bundle
            place = self._folder / hash
            if place.exists() and await self._is_whole(hash, place):
                os.utime(place)
            else:
                data = await self._fetch(hash)
                await asyncio.to_thread(_unpack, data, hash, place, self._mode)
                if self._verify:
                    self._digests[hash] = await asyncio.to_thread(digest_of, place)
            return place

    async def _is_whole(self, hash: str, place: Path) -> bool:
        """Return whether the bundle is intact. If not, or not known, it is moved away; running processes keep what they have
        imported."""
        is_ours = stat.S_IMODE(place.stat().st_mode) == self._mode  # else jobs could change it, or cannot read it
        if not self._verify and is_ours:
            return True
        if hash in self._digests:
            if await asyncio.to_thread(digest_of, place) == self._digests[hash]:
                return True
            log.error("the code of a bundle was changed on this node; it is unpacked again", bundle=hash)
        await asyncio.to_thread(_move_away, place)
        return False

    def drop_old(self) -> None:
        """Before anything is fetched: all but the last used, and what an interrupted unpacking or removing left."""
        by_use = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        whole = [path for path in by_use if not path.name.startswith(".")]
        for path in sorted({*by_use} - {*whole[:KEPT]}):
            if self._enough.is_set():
                return
            hidden = path if path.name.startswith(".") else path.rename(path.with_name(f".{path.name}"))
            shutil.rmtree(hidden)  # a half of it is never found under its hash

    async def drop_unused(self, used: Set[str]) -> None:
        """Remove all but the last used, and those named. The agent fetches a removed one again when a process needs it."""
        whole = [path for path in self._folder.iterdir() if not path.name.startswith(".")]
        by_use = sorted(whole, key=lambda path: path.stat().st_mtime, reverse=True)
        hidden = [path.rename(path.with_name(f".{path.name}")) for path in by_use[KEPT:] if path.name not in used]
        for path in hidden:
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)

    async def _cleaned(self) -> None:
        """Never raises: old bundles do no harm."""
        if self._cleaning is None:
            return
        done, _ = await asyncio.wait({self._cleaning}, timeout=max(0.0, self._until - time.monotonic()))
        if self._enough.is_set() or (done and not self._cleaning.exception()):
            return
        self._enough.set()
        why = repr(self._cleaning.exception()) if done else f"it takes more than {CLEANING_BOUND:g} s"
        log.warning("old bundles stay until the agent is started again", why=why, folder=str(self._folder))


def digest_of(place: Path) -> bytes:
    """A hash of all names, kinds and contents below a folder."""
    whole = hashlib.sha256()
    for folder, folders, files in os.walk(place):
        folders.sort()
        for name in sorted((*folders, *files)):
            path = Path(folder, name)
            kind = stat.S_IFMT(path.lstat().st_mode)
            whole.update(f"{path.relative_to(place)}\0{kind}\0".encode("utf-8", "surrogateescape"))
            if stat.S_ISREG(kind):
                with path.open("rb") as file:
                    whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.digest()


def _move_away(place: Path) -> None:
    if place.exists():
        place.rename(place.with_name(f".{place.name}.{os.urandom(4).hex()}"))  # `drop_old` removes it, when nothing runs from it


def _unpack(data: bytes, hash: str, place: Path, mode: int) -> None:
    if hashlib.sha256(data).hexdigest() != hash:
        raise InvalidBundle(f"bundle {hash[:12]} arrived damaged: its content has another hash")
    temporary = Path(tempfile.mkdtemp(prefix=".", dir=place.parent))
    try:
        bundle.unpack(data, temporary)
        temporary.chmod(mode)
        os.utime(temporary)
        os.replace(temporary, place)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise

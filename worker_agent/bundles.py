"""User code on this node: fetched once per bundle, checked against its hash, unpacked read-only, shared by its processes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
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
    def __init__(self, folder: Path, fetch: Callable[[str], Awaitable[bytes]]) -> None:
        self._folder, self._fetch = folder, fetch
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
            if place.exists():
                os.utime(place)
            else:
                data = await self._fetch(hash)
                await asyncio.to_thread(_unpack, data, hash, place)
            return place

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
        """All but the last used, and those named. What is removed is fetched again when a process needs it."""
        whole = [path for path in self._folder.iterdir() if not path.name.startswith(".")]
        by_use = sorted(whole, key=lambda path: path.stat().st_mtime, reverse=True)
        hidden = [path.rename(path.with_name(f".{path.name}")) for path in by_use[KEPT:] if path.name not in used]
        for path in hidden:
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)

    async def _cleaned(self) -> None:
        """Never raises: old bundles are in nobody's way."""
        if self._cleaning is None:
            return
        done, _ = await asyncio.wait({self._cleaning}, timeout=max(0.0, self._until - time.monotonic()))
        if self._enough.is_set() or (done and not self._cleaning.exception()):
            return
        self._enough.set()
        why = repr(self._cleaning.exception()) if done else f"it takes more than {CLEANING_BOUND:g} s"
        log.warning("old bundles stay until the agent is started again", why=why, folder=str(self._folder))


def _unpack(data: bytes, hash: str, place: Path) -> None:
    if hashlib.sha256(data).hexdigest() != hash:
        raise InvalidBundle(f"bundle {hash[:12]} arrived damaged: its content has another hash")
    temporary = Path(tempfile.mkdtemp(prefix=".", dir=place.parent))
    try:
        bundle.unpack(data, temporary)
        os.utime(temporary)
        os.replace(temporary, place)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise

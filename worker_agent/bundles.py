"""User code on this node: fetched once per bundle, checked against its hash, unpacked read-only, shared by its processes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from gradstream import bundle
from gradstream.errors import InvalidBundle

KEPT = 32
"""Bundles that stay on disk over a restart, the last used ones."""


class Bundles:
    def __init__(self, folder: Path, fetch: Callable[[str], Awaitable[bytes]]) -> None:
        self._folder, self._fetch = folder, fetch
        self._locks: dict[str, asyncio.Lock] = {}
        folder.mkdir(parents=True, exist_ok=True)

    async def folder_of(self, hash: str) -> Path:
        """The folder with the bundle's files.

        Raises: InvalidBundle: damaged on its way, or not to be trusted; and what `fetch` raises."""
        async with self._locks.setdefault(hash, asyncio.Lock()):  # five processes ask at once for one bundle
            place = self._folder / hash
            if place.exists():
                os.utime(place)
            else:
                data = await self._fetch(hash)
                await asyncio.to_thread(_unpack, data, hash, place)
            return place

    def drop_old(self) -> None:
        """While nothing runs: all but the last used, and what an interrupted unpacking left."""
        by_use = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        whole = [path for path in by_use if not path.name.startswith(".")]
        for path in {*by_use} - {*whole[:KEPT]}:
            shutil.rmtree(path)


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

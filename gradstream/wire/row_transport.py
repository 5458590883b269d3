"""Embedding rows on their way: one value for each shard and entry, written once, read once and removed by its reader.

Rows to and from a process of this host lie in a file in shared memory, others in Redis. The header or message that they belong
to comes afterwards, and says how long they are.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redis import Redis

from gradstream.center.tables.payload import AnyRows, RowKeys
from gradstream.errors import PlaneLost
from gradstream.wire.redis.client import connect, retry
from gradstream.wire.redis.routes import Routes
from gradstream.wire.transport import checksum
from gradstream.wire.transport.messages import Part
from gradstream.wire.transport.rows import PackedRows, TravellingRows, unpack_rows

_MOST = 512 << 20
"""Bytes of a value in Redis (`proto-max-bulk-len`)."""


class RowTransport:
    """The values that one process writes and reads."""

    def __init__(self, routes: Routes, folder: Path | None) -> None:
        """Connects to each Redis when it first needs it. `folder`: of the shared memory of this host, if the job uses it."""
        self._routes, self._folder = routes, folder
        self._clients: dict[str, Redis] = {}

    def put(
        self, shard: int, key: str, rows: Mapping[str, AnyRows], asks: Mapping[str, RowKeys] | None = None, *, local: bool
    ) -> Part:
        """Write rows where their reader looks. `asks`: see `TravellingRows`. `local`: it is on this host. Raises: PlaneLost."""
        packed = PackedRows(rows, asks)
        if local and self._folder and self._put_file(self._folder / key, packed):
            return Part(0, 0)
        if packed.nbytes > _MOST:
            raise PlaneLost(
                f"rows of {packed.nbytes / 1e6:,.0f} MB for shard {shard} exceed a value of Redis ({_MOST / 1e6:,.0f} MB); "
                "take more servers, smaller mini-batches or a smaller evaluation split"
            )
        data = b"".join(packed.chunks())
        retry(lambda: self._redis(shard).set(key, data), what="sending rows")
        return Part(len(data), checksum.of_vector(memoryview(data)))

    def take(self, shard: int, key: str, part: Part) -> TravellingRows:
        """Read rows, and remove them. Raises: PlaneLost: they are gone or damaged."""
        memory = self._take_value(shard, key, part) if part.nbytes else self._take_file(key)
        try:
            return unpack_rows(memory)
        except ValueError as error:
            raise PlaneLost(f"the rows in {key} cannot be read: {error}") from error

    def remove(self, shard: int, key: str) -> None:
        """Remove rows whose reader is gone, if they are there. Raises: PlaneLost."""
        if self._folder:
            (self._folder / key).unlink(missing_ok=True)
        retry(lambda: self._redis(shard).unlink(key), what="removing rows")

    def _put_file(self, file: Path, packed: PackedRows) -> bool:
        """False: there is no memory for them here."""
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        try:
            os.fchmod(handle, 0o666)  # the reader may run under another account; the folder says who may enter
            for chunk in packed.chunks():  # twice as fast as through a mapping, whose pages are made zero first
                _write(handle, chunk)
        except OSError:
            file.unlink()
            return False
        finally:
            os.close(handle)
        return True

    def _take_file(self, key: str) -> memoryview:
        assert self._folder is not None, "rows of this host lie in this host's folder"
        file = self._folder / key
        try:
            handle = os.open(file, os.O_RDWR | os.O_CLOEXEC)
            with contextlib.closing(os.fdopen(handle, "r+b", buffering=0)) as opened:
                memory = mmap.mmap(opened.fileno(), 0)
            file.unlink()
        except (OSError, ValueError) as error:
            raise PlaneLost(f"the rows in {file} are gone: {error}") from error
        return memoryview(memory)

    def _take_value(self, shard: int, key: str, part: Part) -> memoryview:
        redis = self._redis(shard)
        data: Any = retry(lambda: redis.get(key), what="reading rows")
        if data is None or len(data) != part.nbytes or checksum.of_vector(memoryview(data)) != part.checksum:
            raise PlaneLost(f"the rows in {key} are gone or damaged; no resend can be asked for")
        retry(lambda: redis.unlink(key), what="removing rows that were read")
        return memoryview(bytearray(data))

    def _redis(self, shard: int) -> Redis:
        access = self._routes.shard(shard)
        if access.url not in self._clients:
            self._clients[access.url] = connect(access.url, user=access.user, password=access.password)
        return self._clients[access.url]


def _write(handle: int, data: memoryview) -> None:
    """Raises: OSError: all of it does not fit."""
    while data:
        data = data[os.write(handle, data) :]

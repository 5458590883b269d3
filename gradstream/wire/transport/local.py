"""A worker's connection to the shards on its own host: vectors in shared memory, messages through a pipe."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from gradstream.process.order import SharedMemory
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.pipe import ResponsePipe
from gradstream.wire.transport.shm import Shared, SharedMemoryError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LocalServers:
    shards: frozenset[int] = frozenset()
    """The shards on this host; the vectors of the others go through Redis."""
    vectors: Shared | None = None
    """None if no shard is local."""
    pipe: ResponsePipe | None = None

    @classmethod
    def make(cls, shared: SharedMemory | None, rank: int, incarnation: int, layout: Layout, centers: int) -> LocalServers:
        """Make the vectors and the pipe of an incarnation. Without the memory for them, no shard is local."""
        if not shared or not shared.servers:
            return cls()
        folder = Path(shared.folder)
        try:
            pipe = ResponsePipe(folder, rank, incarnation)  # first: without it, the vectors would be of no use
            return cls(frozenset(shared.servers), Shared.make(folder, rank, incarnation, layout, centers), pipe)
        except (SharedMemoryError, OSError) as error:
            log.warning("no shared memory, so vectors go through Redis: %s", error)
            return cls()

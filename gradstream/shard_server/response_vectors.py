"""The vectors of a shard's responses in Redis: readers at one position share a center, which goes after its last reader."""

from __future__ import annotations

from gradstream.center.entries import EVALUATOR, Payload, Response
from gradstream.codecs.base import Codec
from gradstream.shard_server.remote import RemoteWorkers
from gradstream.shard_server.response_messages import Incarnation
from gradstream.wire.redis import keys
from gradstream.wire.transport.layout import Coded, Layout, reused


class ResponseVectors:
    def __init__(self, remote: RemoteWorkers, plane_id: str, shard: int) -> None:
        self._remote, self._j, self._shard = remote, plane_id, shard
        self._readers: dict[str, dict[Incarnation, int]] = {}
        """The vectors in Redis, each with its remaining readers and the numbers of their messages."""
        self._unwritten: list[tuple[str, Coded]] = []
        self._memory: dict[int, bytearray] = {}
        """Memory for the coded vectors of the responses to one entry."""

    def add_reader(self, response: Response, number: int, position: str, codec: Codec, layout: Layout) -> str:
        """Return where the response's vector will lie, which `write_vectors` writes. `number`: that of the response's message.

        All readers at this position share one center; other vectors have one reader."""
        assert response.payload is not None, "the response brings a vector"
        is_evaluator = response.rank == EVALUATOR  # it may be given an older center than the workers at the same place of the log
        mine = response.brings != "center" or is_evaluator
        where = f"{position}:{response.rank}.{response.incarnation}" if mine else position
        if where not in self._readers:
            self._unwritten.append((where, self._coded(response.payload, codec, layout)))
        self._readers.setdefault(where, {})[response.rank, response.incarnation] = number
        return where

    def _coded(self, payload: Payload, codec: Codec, layout: Layout) -> Coded:
        """Return the vector, which is encoded while it is written."""
        if not codec.lossy:
            return Coded(layout.encode(codec, payload))
        data = reused(self._memory, len(self._unwritten), layout.coded(codec, self._shard))
        return layout.coding(codec, payload, self._shard, memoryview(data))

    def write_vectors(self) -> None:
        """Write what readers were added to since the last call. Raises: PlaneLost."""
        vectors, self._unwritten = self._unwritten, []
        self._remote.write(vectors)

    def free_read_vectors(self, incarnation: Incarnation, read: int) -> None:
        """Note that an incarnation has read so many messages, and remove vectors without further readers."""
        for where, readers in list(self._readers.items()):
            if readers.get(incarnation, read + 1) <= read:
                del readers[incarnation]
                if not readers:
                    del self._readers[where]
                    self._remote.unlink(keys.center(self._j, self._shard, where))

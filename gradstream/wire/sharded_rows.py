"""The rows of a worker's entries and of the responses to them: a part to and from each shard."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from gradstream.center.tables.payload import AnyRows, joined_shards, shard_part
from gradstream.process.order import SharedMemory
from gradstream.wire.redis import keys
from gradstream.wire.redis.routes import Routes
from gradstream.wire.row_transport import RowTransport
from gradstream.wire.transport.messages import Part, ResponseMessage


class ShardedRows:
    def __init__(
        self,
        routes: Routes,
        j: str,
        incarnation: tuple[int, int],
        servers: int,
        shared: SharedMemory | None,
        local: Collection[int],
    ) -> None:
        """`local`: shards on this host."""
        self._transport = RowTransport(routes, Path(shared.folder) if shared else None)
        self._j, self._incarnation, self._servers, self._local = j, incarnation, servers, local
        self.bytes_sent = self.bytes_received = 0
        """Bytes of rows, as they travelled through Redis."""

    def send(self, seq: int, rows: Mapping[str, AnyRows]) -> tuple[Part, ...]:
        """Put rows where their shards find them. Return the part of each shard, for the header. Raises: PlaneLost."""
        parts = tuple(self._send_part(shard, seq, rows) for shard in range(self._servers))
        self.bytes_sent += sum(part.nbytes for part in parts)
        return parts

    def receive(self, messages: list[ResponseMessage]) -> dict[str, AnyRows] | None:
        """Return the rows that the messages of all shards bring; None: none. Raises: PlaneLost."""
        parts = [(shard, message.number, message.rows) for shard, message in enumerate(messages) if message.rows]
        self.bytes_received += sum(part.nbytes for _, _, part in parts)
        return joined_shards([self._receive_part(*part) for part in parts]) if parts else None

    def _send_part(self, shard: int, seq: int, rows: Mapping[str, AnyRows]) -> Part:
        key = keys.rows_of_entry(self._j, shard, *self._incarnation, seq)
        return self._transport.put(shard, key, shard_part(rows, shard, self._servers), local=shard in self._local)

    def _receive_part(self, shard: int, number: int, part: Part) -> dict[str, AnyRows]:
        return self._transport.take(shard, keys.rows_of_message(self._j, shard, *self._incarnation, number), part)

"""The rows of a worker's entries and of the responses to them: a part to and from each shard."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from gradstream.center.tables.payload import AnyRows, RowKeys, joined_shards, shard_part
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
        self._read: dict[int, dict[str, AnyRows]] = {}
        """Rows that came with a response whose vector is not read yet, by the number of its entry."""
        self.bytes_sent = self.bytes_received = 0
        """Bytes of rows, as they travelled through Redis."""

    def send(self, seq: int, rows: Mapping[str, AnyRows], asks: Mapping[str, RowKeys] | None = None) -> tuple[Part, ...]:
        """Put rows where their shards find them. Return the part of each shard, for the header. Raises: PlaneLost."""
        parts = tuple(self._send_part(shard, seq, rows, asks) for shard in range(self._servers))
        self.bytes_sent += sum(part.nbytes for part in parts)
        return parts

    def receive(self, messages: list[ResponseMessage]) -> None:
        """Read the rows that the messages of all shards bring, if they bring any. Raises: PlaneLost."""
        parts = [(shard, message.number, message.rows) for shard, message in enumerate(messages) if message.rows]
        self.bytes_received += sum(part.nbytes for _, _, part in parts)
        if parts:
            self._read[messages[0].response.seq] = joined_shards([self._receive_part(*part) for part in parts])

    def take(self, seq: int) -> dict[str, AnyRows] | None:
        """Return the rows of the response to this entry; None: it brings none. A response that is sent again, since its vector was
        damaged, brings no rows again: they are those that were read before."""
        return self._read.pop(seq, None)

    def _send_part(self, shard: int, seq: int, rows: Mapping[str, AnyRows], asks: Mapping[str, RowKeys] | None) -> Part:
        key, of_shard = keys.rows_of_entry(self._j, shard, *self._incarnation, seq), shard_part(rows, shard, self._servers)
        asks = None if asks is None else shard_part(asks, shard, self._servers)
        return self._transport.put(shard, key, of_shard, asks, local=shard in self._local)

    def _receive_part(self, shard: int, number: int, part: Part) -> Mapping[str, AnyRows]:
        return self._transport.take(shard, keys.rows_of_message(self._j, shard, *self._incarnation, number), part).rows

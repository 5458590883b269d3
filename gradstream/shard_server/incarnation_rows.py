"""Embedding rows to and from the incarnations of workers and evaluators: those beside their entries, and those of responses."""

from __future__ import annotations

from pathlib import Path

from gradstream.center.entries import Response
from gradstream.process.order import ProcessOrder
from gradstream.shard_server.response_messages import Incarnation
from gradstream.wire.redis import keys
from gradstream.wire.redis.routes import Routes
from gradstream.wire.row_transport import RowTransport
from gradstream.wire.transport.messages import Header, Part
from gradstream.wire.transport.rows import TravellingRows


class IncarnationRows:
    def __init__(self, routes: Routes, order: ProcessOrder) -> None:
        self._transport = RowTransport(routes, Path(order.shared.folder) if order.shared else None)
        self._j, self._shard = order.plane_id, order.rank
        self._fetched: dict[Incarnation, int] = {}
        """Number of the last entry with rows, by incarnation."""
        self._unread: dict[Incarnation, list[int]] = {}
        """Numbers of messages with rows that may not have been read, by incarnation."""

    def fetch(self, header: Header, incarnation: Incarnation, seq: int) -> TravellingRows | None:
        """Return this shard's part of the rows beside an entry; None: it has none. Raises: PlaneLost."""
        if not header.rows:
            return None
        self._fetched[incarnation] = seq
        return self._transport.take(self._shard, self._key_of_entry(incarnation, seq), header.rows[self._shard])

    def store(self, response: Response, number: int, *, local: bool) -> Part | None:
        """Write the rows of a response, whose message has this number. `local`: its reader is on this host. Raises: PlaneLost."""
        if response.payload is None or response.payload.rows is None:
            return None
        incarnation = (response.rank, response.incarnation)
        self._unread.setdefault(incarnation, []).append(number)
        return self._transport.put(self._shard, self._key_of_message(incarnation, number), response.payload.rows, local=local)

    def free_read(self, incarnation: Incarnation, read: int) -> None:
        """Note that an incarnation has read so many messages, whose rows it has removed."""
        if incarnation in self._unread:
            self._unread[incarnation] = [number for number in self._unread[incarnation] if number > read]

    def drop_incarnation(self, incarnation: Incarnation) -> None:
        """Remove what an incarnation has not read, and what it wrote for an entry that never came. Raises: PlaneLost."""
        for number in self._unread.pop(incarnation, ()):
            self._transport.remove(self._shard, self._key_of_message(incarnation, number))
        if incarnation in self._fetched:
            self._transport.remove(self._shard, self._key_of_entry(incarnation, self._fetched.pop(incarnation) + 1))

    def _key_of_entry(self, incarnation: Incarnation, seq: int) -> str:
        return keys.rows_of_entry(self._j, self._shard, *incarnation, seq)

    def _key_of_message(self, incarnation: Incarnation, number: int) -> str:
        return keys.rows_of_message(self._j, self._shard, *incarnation, number)

"""The order in which a worker takes its pieces of all partitions: by time, then by the number of the partition.

The time of a piece is the latest of its partition up to its end, so it never falls from piece to piece. The piece with the lowest
time is next as soon as no partition can bring an earlier one. A partition that ends before that time is waited for up to `idle`
seconds: an idle one does not stop the others. So the order is that of the messages, whenever they are read, if each is there within
`idle` seconds of its time.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from gradstream.data.kafka_topic.pieces import PartitionPieces, TopicPiece


class PieceOrder:
    def __init__(self, idle: float) -> None:
        self._idle = idle
        self._first: tuple[int, int] | None = None
        """Partition and end of the piece that is next, if none comes before it."""
        self._since = 0.0
        """When it became that."""

    def find_next(self, partitions: Collection[PartitionPieces]) -> PartitionPieces | None:
        """Return the partition whose piece is next; None: it is not sure yet."""
        found = [of for of in partitions if of.ready]
        if not found:
            return None
        first = min(found, key=lambda of: of.ready[0][:2])
        piece = first.ready[0]
        before = [of for of in partitions if not of.ready and (of.time, of.partition) < (piece.time, piece.partition)]
        return first if not before or (all(of.at_end for of in before) and self._has_waited(piece)) else None

    def _has_waited(self, piece: TopicPiece) -> bool:
        now, name = time.monotonic(), (piece.partition, piece.end)
        if name != self._first:
            self._first, self._since = name, now
        return now - self._since >= self._idle or time.time() - piece.time / 1000 >= self._idle

"""The pieces of one partition, and those of them that one worker learns.

Piece j of a partition is its offsets from j * size to (j + 1) * size. It belongs to rank (j + partition) mod n. So each message has
one owner, also when partitions are uneven or are added. A piece is whole when its last offset has been passed. Offsets without a
message make it smaller: transactions leave some, and compaction does.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from gradstream.data.kafka_topic.name import TopicMessage


class TopicPiece(NamedTuple):
    time: int
    """Milliseconds: the latest time of all messages of the partition up to its end. First, as pieces are ordered by it."""
    partition: int
    end: int
    """The offset behind it."""
    messages: list[TopicMessage]


class PartitionPieces:
    def __init__(self, partition: int, offset: int, time: int, size: int, share: tuple[int, int]) -> None:
        """`offset`: of the next message. `time`: the latest one before it. `share`: rank and number of workers."""
        self.partition, self._size, (self._rank, self._workers) = partition, size, share
        self.ready: deque[TopicPiece] = deque()
        """Pieces of this worker that are whole and have a message, in order."""
        self.at_end = False
        """No message was there behind the last one when the broker was asked last."""
        self.offset, self.time = offset, time
        """Offset of the next message; the latest time before it."""
        self._growing: list[TopicMessage] = []
        self._end, self._mine = 0, False
        """The end of the piece that the next message is in, and whether it is of this worker."""
        self._enter_piece()

    def add(self, offset: int, time: int, value: bytes | None) -> None:
        """Take the next message. `value` None: a tombstone, no example."""
        if offset >= self._end:
            self._pass_to(offset)
        self.time = max(self.time, time)
        if self._mine and value is not None:
            self._growing.append(TopicMessage(self.partition, offset, value))
        self.at_end = False
        self.offset = offset + 1
        if self.offset == self._end:
            self._pass_to(self.offset)

    def end_at(self, offset: int) -> None:
        """The partition ends here for now."""
        self._pass_to(max(offset, self.offset))
        self.at_end = True

    def _pass_to(self, offset: int) -> None:
        """No message before this offset is missing any more."""
        if offset >= self._end:
            if self._growing:
                self.ready.append(TopicPiece(self.time, self.partition, self._end, self._growing))
                self._growing = []
            self.offset = offset
            self._enter_piece()
        self.offset = offset

    def _enter_piece(self) -> None:
        piece = self.offset // self._size
        self._end, self._mine = (piece + 1) * self._size, (piece + self.partition) % self._workers == self._rank

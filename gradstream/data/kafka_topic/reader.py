"""Reads the pieces of a topic that belong to one worker, in their order."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradstream.center.positions import Place
from gradstream.data.kafka_topic.connection import BrokersAway, TopicConnection
from gradstream.data.kafka_topic.leaders import LeaderWatch
from gradstream.data.kafka_topic.name import TopicName
from gradstream.data.kafka_topic.order import PieceOrder
from gradstream.data.kafka_topic.pieces import PartitionPieces, TopicPiece

if TYPE_CHECKING:
    from confluent_kafka import Message

log = logging.getLogger(__name__)

_LOOK_EVERY = 10.0
"""Seconds between two looks whether the topic is still there, and has more partitions."""
_LOOK_SOON = 0.5
"""The same where it is not there, or no broker has answered lately."""
_GONE_FOR = 10.0
"""Seconds after which a topic that brokers do not know is deleted: they may have just begun."""
_COUNT_EVERY = 1.0
"""Seconds for which the ends of partitions are new enough to be reported."""
_AT_ONCE = 4096
"""Messages that one call takes from the client at most."""
_READ_FOR = 2.0
"""Seconds for which one call reads at most, while messages are known to be there."""
_MOST_READY, _FEW_READY = 4, 2
"""Pieces of a partition in memory at which it is held, and goes on."""


class TopicReader:
    """Not safe for threads. No connection is made before the first read."""

    def __init__(
        self, name: TopicName, settings: Mapping[str, Any], start: Mapping[int, int], idle: float, size: int, share: tuple[int, int]
    ) -> None:
        """`start`: first offsets; of other partitions the first that is there. `size`: offsets of a piece. `share`: rank and number
        of workers."""
        self.name, self._connection, self._order = name, TopicConnection(name, settings), PieceOrder(idle)
        self._start, self._size, self._share = start, size, share
        self._partitions: list[PartitionPieces] = []
        self._held, self._silent = set[int](), set[int]()
        """Partitions that are far ahead; those that brought neither a message nor their end while they were waited for."""
        self.leaders = LeaderWatch(name)
        self._looked = float("-inf")
        self._gone_since: float | None = None
        self._noted = False
        self._ends: dict[int, int] = {}
        """Ends of partitions, as last counted."""
        self._counted = float("-inf")
        self._resumed: Place = ()
        self.topic_id: str | None = None
        """Id of the topic that is read; None: not known yet, or brokers tell none."""
        self._next: deque[TopicPiece] = deque()
        """Pieces whose turn is sure, not taken yet."""
        self._place: Place = ()

    @property
    def place(self) -> Place:
        """Where the pieces that were taken end. Empty: nothing was read."""
        return self._place

    @property
    def is_unreachable(self) -> bool:
        return self._connection.is_unreachable

    def go_to(self, place: Place) -> None:
        """Go on where an earlier incarnation was. Before the first read."""
        self._resumed = self._place = place

    def fetch(self, count: int) -> bool:
        """Return whether the next `count` pieces are in memory now. False: some are not there yet, or brokers are away.
        Raises: InvalidWorkload: they will never come; brokers refuse to give them, or have been away for too long."""
        if len(self._next) >= count:
            return True
        try:
            self._look()
            if self._partitions:
                self._read(count)
        except BrokersAway:
            return False
        return len(self._next) >= count

    def take(self) -> TopicPiece:
        """Return the next piece, which has been fetched."""
        piece = self._next.popleft()
        place = list(self._place)
        place[piece.partition] = piece.end, piece.time
        self._place = tuple(place)
        return piece

    def behind(self) -> int:
        """Return the offsets that are there and not taken by this worker, over the number of workers."""
        taken = {of.partition: end for of, (end, _) in zip(self._partitions, self._place, strict=False)}
        if time.monotonic() > self._counted + _COUNT_EVERY or len(self._ends) < len(self._partitions):
            self._counted = time.monotonic()
            self._ends = {of.partition: max(of.offset, self._connection.last_seen_end(of.partition)) for of in self._partitions}
        return sum(max(0, end - taken.get(number, 0)) for number, end in self._ends.items()) // self._share[1]

    def _read(self, count: int) -> None:
        """Read until so many pieces are sure, no message is waiting, or time is over. Raises: BrokersAway. InvalidWorkload."""
        until = time.monotonic() + _READ_FOR
        while not self._decide(count):
            waiting = any(not of.at_end and of.partition not in self._held for of in self._partitions)
            found = self._connection.read(_AT_ONCE, 0.05 if waiting else 0.0)
            for message in found:
                self._add(message)
            if not found and (not waiting or time.monotonic() > until):
                self._silent = {of.partition for of in self._partitions if not of.at_end and of.partition not in self._held}
                return

    def _decide(self, count: int) -> bool:
        """Return whether so many pieces are sure."""
        while len(self._next) < count and (of := self._order.find_next(self._partitions)):
            self._next.append(of.ready.popleft())
            if of.partition in self._held and len(of.ready) < _FEW_READY:
                self._held.discard(of.partition)
                self._connection.follow({of.partition: of.offset})
        return len(self._next) >= count

    def _add(self, message: Message) -> None:
        """Raises: BrokersAway. InvalidWorkload."""
        number, error, offset = message.partition(), message.error(), message.offset()
        if error is not None and error.name() != "_PARTITION_EOF":
            known = number is not None and 0 <= number < len(self._partitions)
            self._connection.explain(number or 0, self._partitions[number or 0].offset if known else 0, error)
            return
        if number is None or offset is None:
            return
        of = self._partitions[number]
        self._silent.discard(number)
        if error is not None:
            of.end_at(offset)
        elif offset >= of.offset:  # one that was fetched before its partition was held may come twice
            of.add(offset, message.timestamp()[1], message.value())
        if len(of.ready) >= _MOST_READY and number not in self._held:
            self._held.add(number)
            self._connection.leave_off(number)

    def _look(self) -> None:
        """Look whether the topic is there, and for partitions that are new. Raises: BrokersAway. InvalidWorkload."""
        is_known = self._partitions and self._gone_since is None and self._connection.hears(_LOOK_EVERY)
        if not self._connection.may_look:
            raise BrokersAway(f"{self.name} cannot be reached")
        if time.monotonic() < self._looked + (_LOOK_EVERY if is_known else _LOOK_SOON):
            return
        count, known = self._connection.count_partitions(), len(self._partitions)
        self._looked = time.monotonic()
        if count < max(known, len(self._resumed)):
            self._note_gone()
        else:
            self._gone_since = None
            self._check_id(count)
            self.leaders.note(self._connection.leaderless | self._silent)
            if self._connection.leaderless.intersection(range(known, count)):
                raise BrokersAway(f"{self.name} has new partitions without a leader")
            self._follow(range(known, count))

    def _check_id(self, partitions: int) -> None:
        """Raises: InvalidWorkload: another topic has the name now."""
        id = self._connection.topic_id() if partitions else None
        if id and self.topic_id and id != self.topic_id:
            raise self.name.replaced()
        self.topic_id = id or self.topic_id

    def _note_gone(self) -> None:
        """Raises: BrokersAway. InvalidWorkload: brokers have not known the topic for too long."""
        if self._gone_since is None:
            self._gone_since = self._looked
        if self._looked - self._gone_since >= _GONE_FOR:
            raise self.name.deleted()
        raise BrokersAway(f"{self.name} is not there")

    def _follow(self, numbers: range) -> None:
        """Read these partitions, too. Raises: BrokersAway. InvalidWorkload."""
        if not (numbers or self._partitions or self._noted):
            self._noted = True
            log.warning("%s is not there; it is waited for", self.name)
        if added := [self._begin(number) for number in numbers]:
            begins = tuple((of.offset, of.time) for of in added)
            self._place = self._place + begins if self._partitions else begins
            self._partitions += added
            self._connection.follow({of.partition: of.offset for of in added})

    def _begin(self, number: int) -> PartitionPieces:
        """Raises: BrokersAway. InvalidWorkload: the first message that is needed is not there."""
        first, end = self._connection.bounds(number)
        offset, latest = self._resumed[number] if number < len(self._resumed) else (self._start.get(number, first), 0)
        if offset < first:
            raise self.name.removed(number, offset, first)
        if offset > end and number < len(self._resumed):
            raise self.name.remade(number, offset, end)
        return PartitionPieces(number, offset, latest, self._size, self._share)

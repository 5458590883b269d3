"""The mini-batches of a Redis stream: the same ones for every position, whenever its entries come.

A block is `batch_size` entries for each of n ranks, of which rank r takes the r-th part. It is there when it is whole. So the
position of a rank tells the numbers of its entries, and no id has to travel with it.
"""

from __future__ import annotations

from typing import Any

from gradstream.center.positions import Place
from gradstream.data.redis_stream.name import StreamPlace
from gradstream.data.redis_stream.stream import RedisStream
from gradstream.errors import InvalidWorkload
from gradstream.input.followed.counted import CountedPasses
from gradstream.input.gather import PLAIN, Batching
from gradstream.spec import JobSpec


class FollowedStream(CountedPasses):
    """Implements `Feed` and `FollowedFeed`."""

    takes_in_turn = False

    def __init__(self, dataset: RedisStream, spec: JobSpec, rank: int, batching: Batching = PLAIN) -> None:
        """Raises: InvalidWorkload."""
        super().__init__(dataset.name, dataset, dataset.pass_size, spec, batching)
        self._dataset, self._rank, self._batch, self._workers = dataset, rank, spec.batch_size, spec.roles.worker.count
        self._reader = dataset.reader()
        self._trained: StreamPlace | None = None
        """The last entry of the last mini-batch that was trained."""
        self._ahead: dict[int, StreamPlace] = {}
        """The same of those that were taken and are not trained yet, by position."""

    @property
    def is_unreachable(self) -> bool:
        return self._reader.is_unreachable

    def has(self, position: int) -> bool:
        """Return whether this mini-batch, and the rest of its round, is there. Raises: InvalidWorkload."""
        number, reader = self._number(position), self._reader
        there = reader.fetch(number, self._block) and reader.has_had(self._number(self._end_of_round(position)))
        if position and reader.added is not None and reader.added < number:
            raise self._dataset.name.remade(number, reader.added)
        return there

    def behind(self, position: int) -> int:
        """Return the examples of this rank that are there, from the mini-batch of this position on. Raises: InvalidWorkload."""
        return max(0, self._reader.count() - self._number(position)) // self._workers

    def take(self, position: int) -> tuple[Any, int]:
        """Raises: InvalidWorkload: it is not there."""
        if not self._reader.fetch(self._number(position), self._block):
            raise InvalidWorkload(
                f"{self._dataset.name} has no mini-batch number {position} for worker {self._rank} yet, and only a job waits for it"
            )
        entries = self._reader.take(self._block)
        assert self._reader.place is not None, "entries were taken"
        self._ahead[position] = self._reader.place
        return self._dataset.decode(entries[self._rank * self._batch :][: self._batch]), self._batch

    def place(self) -> Place:
        """Empty: positions say all."""
        return ()

    def go_to(self, position: int, place: Place) -> None: ...

    def begin(self, position: int) -> None:
        self._trained = self._ahead.get(position, self._trained)
        self._ahead = {later: place for later, place in self._ahead.items() if later > position}

    def state(self) -> dict[str, Any]:
        """Return the place of the last entry that was trained: a resumed worker finds its next one without counting. Entries that
        were taken ahead are taken again."""
        place = self._trained
        return {} if place is None else {"number": place.number, "id": place.id.decode()}

    def load(self, state: dict[str, Any]) -> None:
        if state:
            self._trained = StreamPlace(state["number"], state["id"].encode())
            self._reader.resume(self._trained)

    def _number(self, position: int) -> int:
        """The number of the first entry of a block."""
        return self._dataset.start + position * self._block

"""Passes of so many mini-batches, and rounds that are there as a whole: for all feeds of streams."""

from __future__ import annotations

from gradstream.data.source import Stream
from gradstream.errors import InvalidWorkload
from gradstream.input.gather import Batching
from gradstream.spec import JobSpec


class CountedPasses:
    """A part of `FollowedFeed`: a pass is `pass_size` examples of all workers, rounded up to whole mini-batches of each."""

    thread_safe = False
    takes_in_turn = True
    late: tuple[str, ...] = ()

    @property
    def leaderless(self) -> tuple[int, ...]:
        return ()

    def __init__(self, name: object, dataset: Stream, pass_size: int, spec: JobSpec, batching: Batching) -> None:
        """`name`: of the stream, for errors. Raises: InvalidWorkload."""
        batching.never_for(dataset)
        if spec.data.prefetch or spec.data.processes:
            raise InvalidWorkload(f"{name} is read as its entries come; remove data.prefetch and data.processes")
        if spec.network == "platform":
            raise InvalidWorkload(
                f"{name} is out of reach, as network: platform lets the job reach nothing but the platform; remove it"
            )
        self._block = spec.batch_size * spec.roles.worker.count
        self._per_pass = -(-(spec.data.pass_examples or pass_size) // self._block)
        self._round = min(spec.strategy.steps_per_push() or self._per_pass, self._per_pass)
        """Mini-batches that a worker trains from one push to the next. They are there together or not at all, so that the end of a
        round does not depend on when entries come."""
        self._total = None if spec.stop.never else spec.stop.steps

    def share(self, rank: int) -> None:
        return None

    def begin(self, position: int) -> None: ...

    def pass_of(self, position: int) -> int:
        return position // self._per_pass

    def passes_until(self, position: int) -> int:
        """Return the number of passes that are over for this rank with this mini-batch."""
        return (position + 1) // self._per_pass

    def begins_stretch(self, position: int) -> bool:
        """Return whether a pass begins with this mini-batch, or a round in it."""
        return position % self._per_pass % self._round == 0

    def _end_of_round(self, position: int) -> int:
        """The position behind the round that this mini-batch is in."""
        of_pass = position % self._per_pass
        end = position - of_pass + min(self._per_pass, (of_pass // self._round + 1) * self._round)
        return min(end, self._total or end)

"""The dealer of `data.deal: demand`: it deals the numbers of mini-batches to workers, each once.

A function of the log, so all shards deal alike. A join is answered with a grant of `ahead` mini-batches, a push with as many as it
has used up. Mini-batches that a worker has not pushed come back when it leaves, or when its next incarnation joins. Returned
numbers are dealt first.

At the end grants shrink. A worker that trained s of the last d mini-batches gets no more than that share of the rest, and none if
that is less than a half. For n equal workers a grant is 1/n of the rest: guided self-scheduling (Polychronopoulos and Kuck 1987).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gradstream.center.dealing.grants import Grant, grant_of, numbers_of
from gradstream.center.entries import ProtocolError

ENDLESS = 2**53
"""Mini-batches of a job that never ends by itself."""
_SCALE = 1 << 10
"""Units of a mini-batch where shares are compared, so that quarters of them count."""
_KEPT_GRANTS = 4
"""Grants of each worker that can be sent again: a worker has at most two responses under way."""


class DealCounts(NamedTuple):
    """The ledger of mini-batches: planned = trained + dropped + outstanding + returned + left."""

    planned: int
    trained: int
    """In pushes that were applied or deferred."""
    dropped: int
    """In pushes that were dropped for values that are not finite. They are not dealt again."""
    outstanding: int
    """Granted to a worker, and not pushed yet."""
    returned: int
    """Came back, and wait to be dealt again."""
    left: int
    """Never dealt so far."""


@dataclass(slots=True)
class _Speed:
    """The share of the mini-batches that a worker had lately: `steps` of the `of` that all pushed, older ones with less weight."""

    steps: int
    of: int
    seen: int
    """Mini-batches that all had pushed at its last push, or when it joined."""

    def add_push(self, steps: int, pushed: int) -> None:
        """Its next push has so many mini-batches, and with it all have pushed `pushed`. Integers, so that one alone has all."""
        self.steps = 3 * self.steps // 4 + _SCALE * steps
        self.of = 3 * self.of // 4 + _SCALE * (pushed - self.seen)
        self.seen = pushed


class Dealer:
    def __init__(self, ahead: int) -> None:
        """`ahead`: mini-batches that a worker holds. See `JobSpec.batches_ahead`."""
        self._ahead = ahead
        self.planned = 0
        """Mini-batches of the job; 0: each worker has a fixed share, and this deals nothing."""
        self._next = self._trained = self._dropped = 0
        self._returned: list[int] = []
        """A heap."""
        self._granted: dict[int, deque[int]] = {}
        """Numbers that each rank has not pushed yet, in the order in which it trains them."""
        self._speeds: dict[int, _Speed] = {}
        self._sent: dict[int, dict[int, Grant]] = {}
        """The last grants of each rank, by the entry that they answer."""
        self._joining: set[int] = set()
        """Ranks whose join is not answered yet."""
        self._unanswered: set[int] = set()
        """Ranks that have used some up, and have no grant for that yet: those that begin, or wait at the gate."""
        self._resumed: set[int] = set()
        """Ranks of the checkpoint that have not joined yet: they keep what they were granted."""

    def counts(self) -> DealCounts:
        outstanding, returned = sum(map(len, self._granted.values())), len(self._returned)
        return DealCounts(self.planned, self._trained, self._dropped, outstanding, returned, self.planned - self._next)

    # ---- entries ----------------------------------------------------------------------------------------------------------

    def join(self, rank: int) -> None:
        """An incarnation has joined. The first one after a checkpoint continues with the numbers of its rank."""
        if rank in self._resumed:
            self._resumed.discard(rank)
        else:
            self.take_back(rank)
        self._sent.pop(rank, None)
        self._joining.add(rank)

    def take_back(self, rank: int) -> None:
        """Take back what this rank was granted and has not pushed."""
        self._return(self._granted.pop(rank, ()))
        self._unanswered.add(rank)
        self._speeds.pop(rank, None)

    def push(self, rank: int, steps: int) -> Sequence[int]:
        """Return the numbers of the mini-batches in a push. Raises: ProtocolError: the worker was granted fewer."""
        if not self.planned:
            return ()
        granted = self._granted.setdefault(rank, deque())
        if steps > len(granted):
            raise ProtocolError(f"worker {rank} pushed {steps} mini-batches, and was granted {len(granted)}")
        self._trained += steps
        self._unanswered.add(rank)
        if steps:
            self._speeds[rank].add_push(steps, self._trained + self._dropped)
        return [granted.popleft() for _ in range(steps)]

    def drop(self, numbers: Sequence[int], *, again: bool) -> None:
        """The push of these numbers was dropped. `again`: deal them again."""
        self._trained -= len(numbers)
        if again:
            self._return(numbers)
        else:
            self._dropped += len(numbers)

    # ---- grants -----------------------------------------------------------------------------------------------------------

    def grant(self, rank: int, seq: int, live: int) -> Grant:
        """Deal to a worker whose push `seq` is answered now, or its join (0). `live`: workers.

        The answer to a join names all that the worker holds, also what its rank held at the checkpoint."""
        if not self.planned or not (seq or rank in self._joining):
            return ()
        self._joining.discard(rank)
        granted = self._granted.setdefault(rank, deque())
        self._speeds.setdefault(rank, _Speed(1, live, self._trained + self._dropped))
        more = [self._take_next() for _ in range(self._fair(rank, len(granted)) if rank in self._unanswered else 0)]
        granted.extend(more)
        self._unanswered.discard(rank)
        sent = self._sent.setdefault(rank, {})
        sent[seq] = grant_of(more if seq else granted)
        for old in sorted(sent)[:-_KEPT_GRANTS]:
            del sent[old]
        return sent[seq]

    def granted_with(self, rank: int, seq: int) -> Grant:
        """Return the grant of an answer, to send it again."""
        return self._sent.get(rank, {}).get(seq, ())

    @property
    def _undealt(self) -> int:
        return self.planned - self._next + len(self._returned)

    def _fair(self, rank: int, held: int) -> int:
        """Return how many mini-batches to deal to a worker that holds so many: at least one if it holds none, unless faster workers
        will have trained the rest before it would end that one.

        With them it holds up to `ahead`, and no more than its share of those that are not trained. It gets no more than its share
        of those that are not dealt."""
        speed, untrained = self._speeds[rank], self.planned - self._trained - self._dropped
        undealt = self._undealt
        fair = min(self._ahead - held, undealt * speed.steps // speed.of, untrained * speed.steps // speed.of - held)
        return min(undealt, max(fair, 0 if held or self._too_late_for(rank, untrained) else 1))

    def _too_late_for(self, rank: int, untrained: int) -> bool:
        """Return whether this worker's share of the rest is less than half a mini-batch, and one that is twice as fast holds some.
        That one will come for the rest: the fastest one that holds some is never late."""
        mine = self._speeds[rank]
        if 2 * untrained * mine.steps >= mine.of:
            return False
        others = (self._speeds[other] for other, numbers in self._granted.items() if numbers and other != rank)
        return any(other.steps * mine.of >= 2 * mine.steps * other.of for other in others)

    def _take_next(self) -> int:
        if self._returned:
            return heapq.heappop(self._returned)
        self._next += 1
        return self._next - 1

    def _return(self, numbers: Collection[int]) -> None:
        for number in numbers:
            heapq.heappush(self._returned, number)

    # ---- checkpoints --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any] | None:
        """None: it deals nothing."""
        if not self.planned:
            return None
        return {
            "planned": self.planned,
            "next": self._next,
            "trained": self._trained,
            "dropped": self._dropped,
            "returned": grant_of(sorted(self._returned)),
            "unanswered": sorted(self._unanswered),
            "granted": {rank: grant_of(numbers) for rank, numbers in self._granted.items()},
            "speeds": {rank: (speed.steps, speed.of, speed.seen) for rank, speed in self._speeds.items()},
        }

    def load(self, state: dict[str, Any] | None) -> None:
        if state is None:
            return
        self.planned, self._next = state["planned"], state["next"]
        self._trained, self._dropped = state["trained"], state["dropped"]
        self._returned = numbers_of(state["returned"])  # sorted, so a heap
        self._granted = {rank: deque(numbers_of(grant)) for rank, grant in state["granted"].items()}
        self._speeds = {rank: _Speed(*speed) for rank, speed in state["speeds"].items()}
        self._unanswered, self._resumed = set(state["unanswered"]), set(self._granted)

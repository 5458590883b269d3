"""Granted mini-batches of a worker: the numbers of the mini-batches that the servers have dealt to it (`data.deal: demand`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from gradstream.center.dealing.grants import Grant, numbers_of
from gradstream.center.entries import Response


class GrantedBatches:
    """Mini-batches come in the order of their grants, and that is the order of the entries that grants answer. A push tells the
    servers only how many mini-batches it has used up."""

    def __init__(self) -> None:
        self._numbers: deque[int] = deque()
        self._last = -1
        self._expected = deque([0])
        """Entries whose answers may bring a grant: the join (0), then pushes by their seq."""
        self._early: dict[int, Grant] = {}
        """Grants that came before the answer to an earlier push, which was damaged on its way."""
        self.skip = 0
        """Mini-batches of the first grant that the replica has taken before its checkpoint, and not pushed."""

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def awaits_grant(self) -> bool:
        """An answer is to come that may bring a grant."""
        return bool(self._expected)

    @property
    def number(self) -> int:
        """The number of the next mini-batch, or of the last one if there is none."""
        return self._numbers[0] if self._numbers else self._last

    def ahead(self, count: int) -> Sequence[int]:
        """Return the numbers of the next `count` mini-batches, as far as they are granted."""
        return list(islice(self._numbers, count))

    def expect(self, seq: int) -> None:
        """The push `seq` is sent."""
        self._expected.append(seq)

    def receive(self, response: Response) -> None:
        if response.seq not in self._expected or (not response.seq and response.outcome != "ok"):
            return
        self._early[response.seq] = response.grant
        while self._expected and self._expected[0] in self._early:
            numbers = numbers_of(self._early.pop(self._expected.popleft()))
            self._numbers.extend(numbers[self.skip :])
            self.skip = max(0, self.skip - len(numbers))

    def take(self) -> None:
        """The next mini-batch was trained."""
        self._last = self._numbers.popleft()

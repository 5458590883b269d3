"""The weights that workers expect the pushes of their next turn to have, so that buckets can go before the headers of the pushes.

All workers see the same entries, responses and rounds, so all expect the same. A wrong expectation costs one sum, which is thrown
away; a right one changes no number.
"""

from __future__ import annotations

from collections.abc import Iterable

from gradstream.center.entries import EVALUATOR, Response
from gradstream.center.parameters.updates import PushUpdates

Weights = tuple[float, ...]
"""By rank."""


class ExpectedRound:
    """A round is expected if the last two were alike, each with a push of every worker in one turn, and the last turn lets all
    begin: nothing but the end of a worker's data, a wait for data, or a mini-batch of another size keeps it away then."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.weights: Weights | None = None
        """Those expected in the next turn; None: the workers expect no round."""
        self._last: Weights | None = None
        """Those of the round that closed in the last turn, with a push of every worker in that turn."""
        self._begin()

    def _begin(self) -> None:
        self._pushed, self._free = set[int](), set[int]()
        self._found: Weights | None = None
        """Those of the round that closes in this turn, likewise."""
        self._is_interrupted = False
        """A worker was asked to save its state or to stop before its next round."""

    def note_push(self, rank: int) -> None:
        self._pushed.add(rank)

    def note_responses(self, responses: Iterable[Response]) -> None:
        for response in responses:
            if response.rank != EVALUATOR:
                self._is_interrupted |= response.outcome in ("checkpoint", "stop")
                if response.go:
                    self._free.add(response.rank)

    def note_round(self, us: PushUpdates) -> bool:
        """Note that a round closes with these pushes. Return whether it is the expected one."""
        whole = len(us) == len(self._pushed) == self._count
        self._found = tuple(us.weights()) if whole else None
        return self._found is not None and self._found == self.weights

    def end_turn(self) -> None:
        goes_on = len(self._free) == self._count and not self._is_interrupted
        self.weights = self._found if goes_on and self._found == self._last else None
        self._last = self._found
        self._begin()

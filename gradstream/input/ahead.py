"""Mini-batches that a worker takes before it pushes, so that its push can ask for their rows.

Each is a function of its position alone, so nothing but the time at which it is taken differs. An error that taking it raises is
raised when the worker trains it: it may never get there. A mini-batch that is not there yet is not waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gradstream.input import randomness

if TYPE_CHECKING:
    from gradstream.model.rows.working_rows import NamedIds  # needs numba, which jobs without tables never import

MAX_AHEAD = 16
"""Mini-batches that are taken ahead at most: a round may have a whole pass of them."""


class TakenBatch(NamedTuple):
    batch: Any
    examples: int
    named: Mapping[str, NamedIds] | None
    """The ids that the workload names for it, by table; None: it names none."""


class BatchesAhead:
    def __init__(
        self,
        take: Callable[[int], tuple[Any, int]],
        name: Callable[[Any], Mapping[str, NamedIds]] | None,
        may_take: Callable[[int], bool],
    ) -> None:
        """`take(position)` returns a mini-batch and how many examples it has. `name(batch)` returns the ids that the workload
        names for it. `may_take(position)`: this one may be taken before its turn."""
        self._take, self._name, self._may_take = take, name, may_take
        self._ahead: dict[int, TakenBatch | Exception] = {}
        """By position."""

    def take(self, position: int) -> TakenBatch:
        """Return the mini-batch number `position`, whose turn it is. Raises: whatever taking it raises."""
        found = self._ahead.pop(position, None)
        if found is None:
            self._ahead.clear()  # the worker goes on somewhere else
            return self._taken(position)
        if isinstance(found, Exception):
            raise found
        return found

    def has(self, position: int) -> bool:
        return position in self._ahead

    def names_from(self, position: int, count: int) -> list[Mapping[str, NamedIds]]:
        """Take up to `count` mini-batches from this one on, and return the ids that the workload names for them."""
        names: list[Mapping[str, NamedIds]] = []
        if self._name is None:
            return names
        for at in range(position, position + min(count, MAX_AHEAD)):
            if at not in self._ahead:
                if not self._may_take(at):
                    break
                self._ahead[at] = self._attempt(at)
            found = self._ahead[at]
            if isinstance(found, Exception):
                break
            names.append(found.named or {})
        return names

    def _attempt(self, position: int) -> TakenBatch | Exception:
        try:
            return self._taken(position)
        except Exception as error:
            return error

    def _taken(self, position: int) -> TakenBatch:
        batch, examples = self._take(position)
        if self._name is None:
            return TakenBatch(batch, examples, None)
        with randomness.kept():  # a model that draws has the same numbers whenever its ids are named
            return TakenBatch(batch, examples, self._name(batch))

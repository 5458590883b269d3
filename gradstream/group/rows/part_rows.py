"""The rows with which one process of a group computes, and the gradients that backward leaves for them, by part of a mini-batch.

In one process, `accumulate` adds the gradients of a key in the order of the parts. So the forwards of each part stay apart until
the lead has those of all parts, and adds them in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import cycle

from torch import Tensor, nn

from gradstream.center.tables.payload import RowGradients
from gradstream.model.rows.held_rows import HeldRows
from gradstream.model.rows.working_rows import WorkingRows
from gradstream.model.usercode import blaming
from gradstream.nn.gradients import merged
from gradstream.spec import JobSpec

PartGradients = Mapping[str, list[RowGradients]]
"""The gradients of one part of a mini-batch, by table: those of each forward, in the order in which backward reached them."""


class PartRows(WorkingRows):
    def __init__(self, model: nn.Module, spec: JobSpec, held: HeldRows) -> None:
        """Raises: as `WorkingRows`."""
        super().__init__(model, spec, held)
        self._parts: list[dict[str, list[RowGradients]]] = []
        """Gradients of one's own parts of the mini-batch."""

    def noting(self, backward: Callable[[Tensor], None], parts: int, examples: int) -> Callable[[Tensor], None]:
        """Return this backward, which also notes the gradients of each part. It is called for each of one's own `parts`, once for
        each member of the model in turn. `examples`: of the whole mini-batch."""
        self._parts = [{} for _ in range(parts)]
        of_calls = cycle(self._parts)

        def noted(loss: Tensor) -> None:
            backward(loss)
            self._note(next(of_calls), examples)

        return noted

    def _note(self, part: dict[str, list[RowGradients]], examples: int) -> None:
        """Raises: UserError: the clicks are wrong."""
        for name, forwards in self._forwards.items():
            with blaming("clicks()"):
                if found := forwards.by_forward(None, examples):
                    part.setdefault(name, []).extend(found)
            forwards.forget_gradients()

    def end_batch(self, examples: int) -> None:
        """Do nothing: the lead adds the gradients of all parts by `add`."""

    def take_parts(self) -> list[PartGradients]:
        """Return the gradients of each of one's own parts, and forget them."""
        taken, self._parts = self._parts, []
        return list(taken)

    def add(self, parts: Iterable[PartGradients]) -> None:
        """Add the gradients of a whole mini-batch by key. `parts`: all of them, in their order."""
        of_tables: dict[str, list[RowGradients]] = {}
        for part in parts:
            for name, found in part.items():
                of_tables.setdefault(name, []).extend(found)
        for name, found in of_tables.items():
            self._gradients[name].append(merged(found))

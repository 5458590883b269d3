"""The embedding tables of `run --local`: those that a script would have, with the intervals of a job."""

from __future__ import annotations

from typing import Any

from torch import nn

from gradstream.errors import InvalidWorkload
from gradstream.model.tables import check_ids, check_named, has_tables
from gradstream.model.usercode import UserCode, blaming
from gradstream.spec import JobSpec
from gradstream.spec.shrink_schedule import ShrinkSchedule
from gradstream.spec.tables import specs_of


class LocalRows:
    """Imports numba."""

    def __init__(self, model: nn.Module, spec: JobSpec, code: UserCode, length: int | None) -> None:
        """`length`: examples of one pass; None: not known. Raises: InvalidWorkload."""
        from gradstream.nn import TableOptimizer

        rules = {name: rule.model_copy(update={"shrink": None, "cache": None}) for name, rule in spec.tables.items()}
        self._optimizer, self._code = TableOptimizer(model, rules, spec.seed), code
        specs = specs_of(spec.tables, self._optimizer.summary())
        for name, of_table in specs.items():
            if length is None and (every := of_table.shrinks_every) and every.samples is None:
                unit = "epochs" if every.epochs is not None else "passes"
                raise InvalidWorkload(
                    f"tables: table '{name}' shrinks by {unit}, and the length of dataset('train') is not known; set data.length, "
                    "or write its shrink in samples"
                )
        self._shrinks, self._length = ShrinkSchedule(specs, length), length

    def begin(self, batch: Any) -> None:
        """Begin a mini-batch. Raises: UserError: `ids()` names a table that the model lacks."""
        self._optimizer.zero_grad()
        if ids := self._code.ids:  # not needed here, but what is wrong elsewhere is told here, too
            with blaming("ids()"):
                check_ids(ids(batch), self._optimizer.summary())

    def use_clicks(self, batch: Any) -> None:
        """Ask the workload for the clicks of the next forward, if a table uses them."""
        if self._optimizer.wants_clicks and (clicks := self._code.clicks):
            self._optimizer.use_clicks(clicks(batch))

    def step(self, samples: int, examples: int, factor: float) -> None:
        """`samples`: trained before this mini-batch of so many examples. `factor`: of the schedule."""
        self._optimizer.factor = factor
        with blaming("clicks()"):
            self._optimizer.step(examples=examples)
        due, after = self._shrinks.due(samples, samples + examples), samples + examples
        if self._length:
            due += self._shrinks.due_with_passes(samples // self._length, after // self._length)
        if due:
            self._optimizer.shrink(due)


def local_rows(model: nn.Module, spec: JobSpec, code: UserCode, length: int | None) -> LocalRows | None:
    """None: the model has no embedding tables. Raises: InvalidWorkload."""
    if not has_tables(model):
        check_named(spec)
        return None
    return LocalRows(model, spec, code, length)

"""The optimizer of a model's tables, in any script: `loss.backward(); dense.step(); rows.step()`."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import nn

from gradstream.center.tables.storage.contents import add_contents, read_contents
from gradstream.center.tables.storage.table_contents import TableContents
from gradstream.center.tables.table import EmbeddingTable, RowOutcome
from gradstream.errors import InvalidWorkload
from gradstream.nn.embedding import TableModule, widths_of
from gradstream.nn.gradients import LocalTable
from gradstream.nn.ids import as_array
from gradstream.spec.tables import TableSpec, specs_of


@dataclass(frozen=True, slots=True)
class TableSummary:
    rows: int
    candidates: int
    """Keys that wait for their admission."""
    made: int
    """Rows made so far."""
    evicted: int
    """Rows and candidates that shrinks have removed."""
    nbytes: int
    """Memory of rows, candidates and index."""


class TableOptimizer:
    """Makes a table for each name among the model's `Embedding` and `EmbeddingBag` modules, and trains it."""

    def __init__(
        self, model: nn.Module, rules: Mapping[str, Any] | None = None, seed: int = 0, capacity: int | None = None
    ) -> None:
        """`rules`: a `gradstream.spec.tables.TableSpec`, or its fields, for each table; `default` for those not named.
        `seed`: of first values and admissions. `capacity`: rows of each table, at most; default: as many as memory holds.

        Raises: InvalidWorkload: the model has no such module, or a table of two widths; a rule is wrong, or of an unknown table."""
        self._modules = [module for module in model.modules() if isinstance(module, TableModule)]
        if not self._modules:
            raise InvalidWorkload(
                "the model has no gradstream.nn.Embedding or EmbeddingBag; train it with an optimizer of torch alone"
            )
        self._widths = widths_of(self._modules)
        try:
            self._specs = specs_of(rules, self._widths)
        except ValidationError as error:
            found = (f"{'/'.join(map(str, each['loc']))}: {_sentence(dict(each))}" for each in error.errors())
            raise InvalidWorkload(f"rules of tables: {'; '.join(found)}") from error
        if named := ", ".join(name for name, spec in self._specs.items() if spec.shrink):
            raise InvalidWorkload(f"rules of tables: shrink of {named} is for jobs; remove it, and call rows.shrink()")
        if named := ", ".join(name for name, spec in self._specs.items() if spec.cache):
            raise InvalidWorkload(f"rules of tables: cache of {named} is for jobs, whose rows are at servers; remove it")
        self._seed, self._capacity = seed, capacity
        self._tables: dict[str, LocalTable] = {}
        self._use(self._make_tables(seed))
        self.factor = 1.0
        """Factor on the learning rates, which your schedule sets; ftrl has none."""

    def step(self, clicks: torch.Tensor | None = None, examples: int | None = None) -> dict[str, RowOutcome]:
        """Apply the gradients since the last step. Return the outcome of each table that had any.

        `clicks`: of each example, for scores; the first dimension of ids, or the bags, are the examples. `examples`: of the
        mini-batch, for `gradient: sum`; default: those of the forward. Raises: InvalidWorkload: a gradient is not finite."""
        labels = None if clicks is None else as_array(clicks.detach().reshape(-1).float())
        merged = {name: local.merged(labels, examples) for name, local in self._tables.items()}
        pushed = {name: rows for name, rows in merged.items() if rows is not None}
        for name, rows in pushed.items():
            if not np.isfinite(rows.gradients).all():
                raise InvalidWorkload(
                    f"table '{name}': a gradient is not finite, and no table was changed; call zero_grad() to go on"
                )
        self.zero_grad()
        return {name: self._tables[name].push(rows, self.factor) for name, rows in pushed.items()}

    @property
    def wants_clicks(self) -> bool:
        """A table uses scores."""
        return any(spec.has_scores for spec in self._specs.values())

    def use_clicks(self, clicks: torch.Tensor) -> None:
        """Give the clicks of each example before a forward instead of with the step: for several forwards that share a step."""
        for local in self._tables.values():
            local.labels = as_array(clicks.detach().reshape(-1).float())

    def zero_grad(self) -> None:
        """Forget the gradients since the last step."""
        for local in self._tables.values():
            local.forget_gradients()

    def shrink(self, tables: Collection[str] | None = None) -> dict[str, int]:
        """End a pass: decay scores, evict as `keep` and `most` say. Return how many rows and candidates of each table are gone.

        `tables`: their names; default: all. Raises: InvalidWorkload: there is no such table."""
        for name in tables if tables is not None else ():
            if isinstance(tables, str) or name not in self._tables:
                there = ", ".join(self._tables)
                raise InvalidWorkload(f"shrink: {tables!r} are not names of tables; give a list of some of {there}")
        return {name: local.table.shrink() for name, local in self._tables.items() if tables is None or name in tables}

    def summary(self) -> dict[str, TableSummary]:
        tables = {name: local.table for name, local in self._tables.items()}
        return {name: TableSummary(t.alive, t.waiting, t.made, t.evicted, t.nbytes) for name, t in tables.items()}

    def state_dict(self) -> dict[str, Any]:
        """All rows with the state of their rules, for `torch.save`."""
        tables = {}
        for name, local in self._tables.items():
            tables[name] = {"time": local.table.time, **read_contents(local.table).tensors()}
        return {"seed": self._seed, "tables": tables}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace all rows. Raises: InvalidWorkload: the state is of other tables. Invalid: of another dim or rule."""
        if set(state["tables"]) != set(self._tables):
            stored, own = (", ".join(sorted(names)) for names in (state["tables"], self._tables))
            raise InvalidWorkload(f"the state has the tables {stored}, and this model {own}; load it into the model that it is of")
        made = self._make_tables(state["seed"])
        for name, stored in state["tables"].items():
            columns = {column: values for column, values in stored.items() if column != "time"}
            add_contents(made[name].table, TableContents.of_tensors(columns))
            made[name].table.time = stored["time"]
        self._seed = state["seed"]
        self._use(made)

    def _make_tables(self, seed: int) -> dict[str, LocalTable]:
        return {
            name: LocalTable(EmbeddingTable(name, width, self._specs[name], seed, capacity=self._capacity))
            for name, width in self._widths.items()
        }

    def _use(self, tables: dict[str, LocalTable]) -> None:
        self._tables = tables
        for module in self._modules:
            module.bind(tables[module.table])


def _sentence(error: dict[str, Any]) -> str:
    """Say what is wrong in the rules of a table, as the job file's errors do."""
    match error["type"]:
        case "extra_forbidden":
            known = list(TableSpec.model_fields) if len(error["loc"]) == 2 else []
            return f"there is no such key{_hint(str(error['loc'][-1]), known)}"
        case "union_tag_invalid":
            known = [name.strip("'") for name in error["ctx"]["expected_tags"].split(", ")]
            return f"there is no rule '{error['ctx']['tag']}'{_hint(error['ctx']['tag'], known)}"
        case "union_tag_not_found":
            return "name the rule: {name: adagrad}"
    return str(error["msg"].removeprefix("Value error, "))


def _hint(word: str, known: list[str]) -> str:
    if not known:
        return "; remove it"
    close = difflib.get_close_matches(word, known, 1, 0.5)
    return (f"; did you mean '{close[0]}'? There are " if close else "; there are ") + ", ".join(known)

"""Models with the trained rows of a job, for inference and scripts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torch import nn

from gradstream.center.tables.storage.trained import read_tables
from gradstream.errors import InvalidWorkload
from gradstream.nn.embedding import TableModule, widths_of
from gradstream.nn.gradients import LocalTable
from gradstream.spec.tables import name_for_member


def load_tables(model: nn.Module, files: Iterable[str | Path], member: int | None = None) -> dict[str, int]:
    """Let the model's `Embedding` and `EmbeddingBag` modules read the rows that a job has trained. Return the rows by table.

    `files`: `tables-0.safetensors` and the others of the job. `member`: of its ensemble. Raises: InvalidWorkload: the model has
    other tables. Invalid: a file is damaged, missing, or of another job."""
    modules = [module for module in model.modules() if isinstance(module, TableModule)]
    widths, tables = widths_of(modules), read_tables([Path(file) for file in files])
    if member is not None:
        names = {name: name_for_member(member, name) for name in widths}
        tables = {name: tables[its] for name, its in names.items() if its in tables}
    for name, width in widths.items():
        if name not in tables:
            there = ", ".join(sorted(tables)) or "no tables"
            of_member = " of this member" if member is not None else ""
            raise InvalidWorkload(f"table '{name}': the files have {there}{of_member}; give those of the model's job")
        if tables[name].width != width:
            stored = tables[name].width
            raise InvalidWorkload(f"table '{name}' has dim {width} in the model and {stored} in the files; use that dim")
    bound = {name: LocalTable(tables[name]) for name in widths}
    for module in modules:
        module.bind(bound[module.table])
    return {name: tables[name].alive for name in widths}

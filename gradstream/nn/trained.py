"""Models with the trained rows of a job, for inference and scripts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torch import nn

from gradstream.center.tables.storage.trained import read_tables
from gradstream.errors import InvalidWorkload
from gradstream.nn.embedding import TableModule, widths_of
from gradstream.nn.gradients import LocalTable


def load_tables(model: nn.Module, files: Iterable[str | Path]) -> dict[str, int]:
    """Let the model's `Embedding` and `EmbeddingBag` modules read the rows that a job has trained. Return the rows by table.

    `files`: `tables-0.safetensors` and the others of the job. Raises: InvalidWorkload: the model has other tables. Invalid: a
    file is damaged, missing, or of another job."""
    modules = [module for module in model.modules() if isinstance(module, TableModule)]
    widths, tables = widths_of(modules), read_tables([Path(file) for file in files])
    for name, width in widths.items():
        if name not in tables:
            there = ", ".join(sorted(tables)) or "no tables"
            raise InvalidWorkload(f"table '{name}': the files have {there}; give those of the model's job")
        if tables[name].width != width:
            stored = tables[name].width
            raise InvalidWorkload(f"table '{name}' has dim {width} in the model and {stored} in the files; use that dim")
    bound = {name: LocalTable(tables[name]) for name in widths}
    for module in modules:
        module.bind(bound[module.table])
    return {name: tables[name].alive for name in widths}

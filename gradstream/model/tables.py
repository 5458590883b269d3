"""The embedding tables of a workload's model, if it has any. Models without them never import numba."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from torch import nn

from gradstream.errors import InvalidWorkload
from gradstream.spec import JobSpec
from gradstream.spec.tables import name_for_member, workload_names

if TYPE_CHECKING:
    from gradstream.model.rows.working_rows import WorkingRows
    from gradstream.nn.embedding import TableModule


def has_tables(model: nn.Module) -> bool:
    """The model has a `gradstream.nn.Embedding` or `EmbeddingBag`."""
    return bool(table_modules(model))


def table_modules(model: nn.Module) -> list[TableModule]:
    """Return the embeddings of `gradstream.nn` in a model."""
    embedding = sys.modules.get("gradstream.nn.embedding")  # a module of a class that was never imported is nowhere
    return [module for module in model.modules() if embedding and isinstance(module, embedding.TableModule)]


def separate_tables(members: Sequence[nn.Module]) -> None:
    """Give each member of an ensemble tables of its own. Raises: InvalidWorkload: members share modules."""
    seen = set[int]()
    for number, member in enumerate(members):
        modules = table_modules(member)
        if seen & {id(module) for module in modules}:
            raise InvalidWorkload("two calls of model() returned the same embeddings; with 'members', each call must make new ones")
        for module in modules:
            seen.add(id(module))
            module.table = name_for_member(number, module.table)


def working_rows(model: nn.Module, spec: JobSpec) -> WorkingRows | None:
    """Bind the model's tables to rows that a worker looks up; None: it has no tables. Raises: InvalidWorkload."""
    if not has_tables(model):
        check_named(spec)
        return None
    if spec.best:
        raise InvalidWorkload(
            "best: the rows of the best evaluation have changed by the time it is known; remove best. With `export: {every: ...}` "
            "the job exports models while it trains, and you choose one"
        )
    if spec.start_from and spec.start_from.file:
        raise InvalidWorkload("start_from.file: the file has no rows of embedding tables; name the job that trained them")
    from gradstream.model.rows.working_rows import WorkingRows

    return WorkingRows(model, spec)


def check_ids(ids: Iterable[str], tables: Iterable[str]) -> None:
    """Raises: InvalidWorkload: `ids` of the workload names a table that the model lacks."""
    there = workload_names(tables)
    for name in sorted(set(ids).difference(there)):
        raise InvalidWorkload(f"the model has no table '{name}'; it has {', '.join(there)}; name one of them in ids()")


def check_named(spec: JobSpec) -> None:
    """Raises: InvalidWorkload: the job has settings for tables, and its model has no tables."""
    if named := ", ".join(sorted(spec.tables)):
        raise InvalidWorkload(f"tables: the model has no gradstream.nn.Embedding or EmbeddingBag; remove the tables {named}")

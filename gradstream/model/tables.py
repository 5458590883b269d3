"""The embedding tables of a workload's model, if it has any. Models without them never import numba."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from torch import nn

from gradstream.errors import InvalidWorkload
from gradstream.spec import JobSpec

if TYPE_CHECKING:
    from gradstream.model.working_rows import WorkingRows


def has_tables(model: nn.Module) -> bool:
    """The model has a `gradstream.nn.Embedding` or `EmbeddingBag`."""
    embedding = sys.modules.get("gradstream.nn.embedding")  # a module of a class that was never imported is nowhere
    return embedding is not None and any(isinstance(module, embedding.TableModule) for module in model.modules())


def working_rows(model: nn.Module, spec: JobSpec) -> WorkingRows | None:
    """Bind the model's tables to rows that a worker looks up; None: it has no tables. Raises: InvalidWorkload."""
    if not has_tables(model):
        check_named(spec)
        return None
    if spec.members > 1:
        raise InvalidWorkload("members: the models of an ensemble would share their embedding tables; remove members")
    if spec.best:
        raise InvalidWorkload("best: it keeps the model of the best evaluation without its embedding rows; remove best")
    if spec.start_from and spec.start_from.file:
        raise InvalidWorkload("start_from.file: the file has no rows of embedding tables; name the job that trained them")
    from gradstream.model.working_rows import WorkingRows

    return WorkingRows(model, spec)


def check_ids(ids: Iterable[str], tables: Collection[str]) -> None:
    """Raises: InvalidWorkload: `ids` of the workload names a table that the model lacks."""
    for name in sorted(set(ids) - set(tables)):
        raise InvalidWorkload(f"the model has no table '{name}'; it has {', '.join(sorted(tables))}; name one of them in ids()")


def check_named(spec: JobSpec) -> None:
    """Raises: InvalidWorkload: the job has settings for tables, and its model has no tables."""
    if named := ", ".join(sorted(spec.tables)):
        raise InvalidWorkload(f"tables: the model has no gradstream.nn.Embedding or EmbeddingBag; remove the tables {named}")

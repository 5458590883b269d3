"""`accumulate: n` of a job: a mini-batch is computed in parts, one after the other, since all at once would not fit into memory.
The peers of a group compute such parts at the same time.

The gradient of the mean loss is the mean of the parts' gradients, weighted by examples. A layer or loss over a whole mini-batch
(BatchNorm, a contrastive loss) sees a part."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from gradstream.data.ragged import Ragged
from gradstream.errors import InvalidWorkload

if TYPE_CHECKING:
    from gradstream.model.rows.working_rows import Named


class MicroBatch(NamedTuple):
    batch: Any
    share: float
    """Share of the mini-batch's examples."""


class Minibatch(NamedTuple):
    """A mini-batch as the model gets it."""

    position: int
    shares: list[MicroBatch]
    examples: int
    named: Named | None = None
    """The ids that the workload names for it; None: it names none."""


def of(batch: Any, examples: int, at_once: int) -> list[MicroBatch]:
    """`batch` itself, or parts of nearly equal size and at most `at_once` examples: tensors are split along their first dimension,
    and so are lists of examples; numbers, None and tensors without dimensions go to each part.

    Raises: InvalidWorkload, if it cannot be split."""
    if examples <= at_once:
        return [MicroBatch(batch, 1.0)]
    if not _holds_rows(batch, examples):
        raise _unsplittable(f"nothing of this length (it is of type {type(batch).__name__})", examples)
    rows = torch.arange(examples).tensor_split(-(-examples // at_once))
    return [MicroBatch(_split(batch, examples, slice(int(r[0]), int(r[-1]) + 1)), len(r) / examples) for r in rows]


def _split(value: Any, examples: int, rows: slice) -> Any:
    if isinstance(value, Ragged) and len(value.offsets) == examples:
        return value.examples(rows)
    if isinstance(value, Tensor):
        if value.ndim and len(value) != examples:
            raise _unsplittable(f"a tensor of shape {tuple(value.shape)}", examples)
        return value[rows] if value.ndim else value
    if isinstance(value, dict):
        return {key: _split(inner, examples, rows) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        if not any(_holds_rows(inner, examples) for inner in value) and len(value) == examples:
            return value[rows]
        split = [_split(inner, examples, rows) for inner in value]
        return type(value)(*split) if hasattr(value, "_fields") else type(value)(split)
    if value is None or isinstance(value, Number | str | bytes):
        return value
    raise _unsplittable(f"a value of type {type(value).__name__}", examples)


def _holds_rows(value: Any, examples: int) -> bool:
    """Something in it is as long as the mini-batch."""
    if isinstance(value, Ragged):
        return len(value.offsets) == examples
    if isinstance(value, Tensor):
        return value.ndim > 0 and len(value) == examples
    if isinstance(value, dict):
        return any(_holds_rows(inner, examples) for inner in value.values())
    return isinstance(value, list | tuple) and (len(value) == examples or any(_holds_rows(inner, examples) for inner in value))


def _unsplittable(found: str, examples: int) -> InvalidWorkload:
    return InvalidWorkload(
        f"accumulate, roles.worker.group: a mini-batch of {examples} examples holds {found}, so it cannot be computed in parts; "
        "let dataset('train') give tensors whose first dimension counts examples, or remove both"
    )

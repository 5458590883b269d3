"""Ids of examples that have any number of them each, and the choice of examples from batches that hold such ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

Chosen = int | slice | Tensor


class Ragged(NamedTuple):
    """`EmbeddingBag` takes it as it is: `self.tags(batch["tags"])`."""

    ids: Tensor
    """Those of all examples, one example after the other."""
    offsets: Tensor
    """The place in `ids` where each example begins: int64, shape (examples,)."""

    def examples(self, chosen: Chosen) -> Ragged | Tensor:
        """Return those of the chosen examples, of a single one as a vector."""
        ends = torch.cat([self.offsets[1:], self.offsets.new_tensor([len(self.ids)])])
        if isinstance(chosen, int):
            return self.ids[self.offsets[chosen] : ends[chosen]]
        starts = self.offsets[chosen]
        lengths = ends[chosen] - starts
        offsets = lengths.cumsum(0) - lengths
        places = torch.repeat_interleave(starts - offsets, lengths) + torch.arange(int(lengths.sum()), device=starts.device)
        return Ragged(self.ids[places], offsets)


def joined_ragged(parts: Sequence[Ragged]) -> Ragged:
    """Return the examples of all parts, one part after the other."""
    begin, offsets = 0, []
    for part in parts:
        offsets.append(part.offsets + begin)
        begin += len(part.ids)
    return Ragged(torch.cat([part.ids for part in parts]), torch.cat(offsets))


def examples_of(batch: Any, chosen: Chosen) -> Any:
    """Return a nest of the same form with the chosen examples only. `chosen`: a number takes the first dimension away."""
    if isinstance(batch, Ragged):
        return batch.examples(chosen)
    if isinstance(batch, Tensor):
        return batch.index_select(0, chosen) if isinstance(chosen, Tensor) else batch[chosen]
    if isinstance(batch, dict):
        return {key: examples_of(value, chosen) for key, value in batch.items()}
    if isinstance(batch, list | tuple):
        inner = [examples_of(value, chosen) for value in batch]
        return type(batch)(*inner) if hasattr(batch, "_fields") else type(batch)(inner)
    return batch


def joined_batches(parts: Sequence[Any]) -> Any:
    """Return nests of the same form as one, their examples one behind the other."""
    first = parts[0]
    if isinstance(first, Ragged):
        return joined_ragged(parts)
    if isinstance(first, Tensor):
        return torch.cat(list(parts))
    if isinstance(first, dict):
        return {key: joined_batches([part[key] for part in parts]) for key in first}
    inner = [joined_batches(list(column)) for column in zip(*parts, strict=True)]
    return type(first)(*inner) if hasattr(first, "_fields") else type(first)(inner)

"""A push as `Strategy.apply` sees it, and the list of pushes that count together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gradstream.center.entries import Push
from gradstream.center.tables.payload import RowGradients
from gradstream.own_pages import own_copy, own_empty_like


@dataclass(slots=True)
class PushUpdate:
    """See `gradstream.strategies.base.Update`."""

    push: Push
    x: Tensor
    staleness: int
    base: Tensor | None = None
    rows: Mapping[str, RowGradients] | None = None
    response: Tensor | None = None

    @property
    def rank(self) -> int:
        return self.push.rank

    @property
    def examples(self) -> int:
        return self.push.examples

    @property
    def steps(self) -> int:
        return self.push.steps

    @property
    def norm(self) -> float:
        return self.push.norm


class PushUpdates(list[PushUpdate]):
    """Updates in rank order, so that a sum has the same bits in whatever order the workers push."""

    def mean(self) -> Tensor:
        """Return sum_i B_i x_i / sum_i B_i; without any examples, as before the first mini-batch, the plain mean. A single
        update is its own mean, bit for bit."""
        if len(self) == 1:
            return self[0].x
        weights = self.weights()
        mean = torch.mul(self[0].x, weights[0], out=own_empty_like(self[0].x))
        for u, weight in zip(self[1:], weights[1:], strict=True):
            mean.add_(u.x, alpha=weight)
        return mean

    def weights(self) -> list[float]:
        """Return the weight of each update in the mean; the weights add up to 1."""
        total = sum(u.examples for u in self)
        return [u.examples / total if total else 1 / len(self) for u in self]

    def with_mean(self, mean: Tensor) -> PushUpdates:
        """Return one update that has this vector, in the place of all."""
        return PushUpdates([replace(self[0], x=mean)])

    def sum(self) -> Tensor:
        if len(self) == 1:
            return self[0].x
        total = own_copy(self[0].x)
        for u in self[1:]:
            total.add_(u.x)
        return total


FindMean = Callable[[PushUpdates], Tensor]
"""Returns the mean of updates, weighted as `PushUpdates.mean`, shape (n,)."""

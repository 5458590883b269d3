"""How far the center has moved away from what a push was computed from: ||theta - base||, of a sample of pushes.

    center given to worker i, whose turn it is:   copy <- theta as it was given
    its push with that base, before it counts:    this slice's part is sum (copy - theta)^2        the worker adds up all parts

A worker's turn comes after EVERY mini-batches without a sample. At most one copy is kept: where several have their turn, the one
with most mini-batches comes first, and while that takes, the others wait, but not for ever. Who has its turn when is a function
of the log alone, so all shards measure the same pushes. None of it is part of a cut: what is lost is a sample.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gradstream.center.center import Center
from gradstream.center.entries import NOT_FINITE, Push
from gradstream.spec import JobSpec

EVERY = 32
"""Mini-batches of a worker between two of its samples, at least."""
PATIENCE = 64 * EVERY
"""Mini-batches after which a worker takes the copy from one that does not come back with its push."""


class Drift:
    """Of one slice. Where the strategy keeps bases, these are measured against, and nothing is copied."""

    def __init__(self, spec: JobSpec) -> None:
        self._bases_are_kept = spec.strategy.keeps_base
        self._behind: dict[int, int] = {}
        """Mini-batches of each live rank since its last sample."""
        self._copy: Tensor | None = None
        """Made once, shape (n,)."""
        self._of: tuple[int, int] | None = None
        """The rank and the version that the copy is of; None: it is free."""

    @staticmethod
    def is_worth_it(spec: JobSpec) -> bool:
        """Under bsp nothing moves while a worker computes, and what exchanges averages has no base."""
        return spec.effective_gate.mode != "bsp" and not spec.strategy.answers

    def given(self, rank: int, center: Center) -> None:
        """This rank is given the center as it is now."""
        behind = self._behind.get(rank, 0)
        if self._bases_are_kept or behind < (PATIENCE if self._of else EVERY) or behind < max(self._behind.values()):
            return
        theta = center.send(center.theta)
        self._copy = torch.empty_like(theta) if self._copy is None else self._copy
        self._copy.copy_(theta)
        self._of, self._behind[rank] = (rank, center.version), 0

    def measure(self, push: Push, center: Center) -> float | None:
        """This slice's part of the squared distance, if this push is of the sample, or NOT_FINITE. Before it is folded."""
        behind = self._behind[push.rank] = self._behind.get(push.rank, 0) + push.steps
        if self._bases_are_kept:
            base = center.base(push.rank, push.base)
            if behind < EVERY or base is None:
                return None
            self._behind[push.rank] = 0
            return _squares(center.theta - base)
        if self._copy is None or self._of is None or push.rank != self._of[0] or push.base < self._of[1]:
            return None  # of another rank, or overtaken by the answer to an earlier push
        is_of_it = push.base == self._of[1]
        self._of = None
        return _squares(self._copy.sub_(center.theta)) if is_of_it else None

    def give_up(self, rank: int) -> None:
        """A push of this rank does not count: there is nothing to measure."""
        if self._of and self._of[0] == rank:
            self._of = None

    def forget(self, rank: int) -> None:
        """This life of the rank is over."""
        self.give_up(rank)
        self._behind.pop(rank, None)


def _squares(x: Tensor) -> float:
    """The sum of all; in float64 where float32 would overflow."""
    norm = float(torch.linalg.vector_norm(x, dtype=torch.promote_types(x.dtype, torch.float32)))
    norm = norm if math.isfinite(norm) else float(torch.linalg.vector_norm(x, dtype=torch.float64))
    return norm * norm if math.isfinite(norm * norm) else NOT_FINITE

"""The distance that the center has moved from a push's base, ||theta - base||, measured for a sample of pushes.

    center given to worker i, whose turn it is:   copy <- theta as it was given
    its push with that base, before it counts:    this slice's part is sum (copy - theta)^2        the worker adds up all parts

A worker's turn comes after EVERY mini-batches without a sample. The shard keeps at most one copy. Where several workers have
their turn, the one with most mini-batches comes first; the others wait, up to MAX_WAIT mini-batches. The log alone decides on
turns, so all shards measure the same pushes. Checkpoints hold none of it: a restart loses one sample.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gradstream.center.entries import NOT_FINITE, Push
from gradstream.center.parameters.center import Center
from gradstream.own_pages import own_empty_like
from gradstream.spec import JobSpec

EVERY = 32
"""Mini-batches of a worker between two of its samples, at least."""
MAX_WAIT = 64 * EVERY
"""Mini-batches after which a worker takes the copy from one that does not come back with its push."""


class Drift:
    """The measurement for one slice. Where the strategy keeps bases, it measures against these and copies nothing."""

    def __init__(self, spec: JobSpec) -> None:
        self._bases_are_kept = spec.strategy.keeps_base
        self._behind: dict[int, int] = {}
        """Mini-batches of each live rank since its last sample."""
        self._copy: Tensor | None = None
        """The one copy, allocated once, shape (n,)."""
        self._of: tuple[int, int] | None = None
        """The rank and the version that the copy is of; None: it is free."""

    @staticmethod
    def is_worth_it(spec: JobSpec) -> bool:
        """False under bsp, where theta rests while workers compute, and for strategies that exchange averages without a base."""
        return spec.effective_gate.mode != "bsp" and not spec.strategy.responds

    def given(self, rank: int, center: Center) -> None:
        """Note that this rank is given the center as it is now, and copy the center if it is the rank's turn."""
        behind = self._behind.get(rank, 0)
        if self._bases_are_kept or behind < (MAX_WAIT if self._of else EVERY) or behind < max(self._behind.values()):
            return
        theta = center.send(center.theta)
        self._copy = own_empty_like(theta) if self._copy is None else self._copy
        self._copy.copy_(theta)
        self._of, self._behind[rank] = (rank, center.version), 0

    def measure(self, push: Push, center: Center) -> float | None:
        """Return this slice's part of the squared distance, or NOT_FINITE; None if the push is not in the sample.

        Call it before the push is folded."""
        behind = self._behind[push.rank] = self._behind.get(push.rank, 0) + push.steps
        if self._bases_are_kept:
            base = center.base(push.rank, push.base)
            if behind < EVERY or base is None:
                return None
            self._behind[push.rank] = 0
            return _squares(center.theta - base)
        if self._copy is None or self._of is None or push.rank != self._of[0] or push.base < self._of[1]:
            return None  # of another rank, or overtaken by the response to an earlier push
        is_of_it = push.base == self._of[1]
        self._of = None
        return _squares(self._copy.sub_(center.theta)) if is_of_it else None

    def give_up(self, rank: int) -> None:
        """Drop the sample of this rank, since its push does not count."""
        if self._of and self._of[0] == rank:
            self._of = None

    def forget(self, rank: int) -> None:
        """Drop all of this rank, whose incarnation is over."""
        self.give_up(rank)
        self._behind.pop(rank, None)


def _squares(x: Tensor) -> float:
    """Return the sum of squares, in float64 where float32 would overflow."""
    norm = float(torch.linalg.vector_norm(x, dtype=torch.promote_types(x.dtype, torch.float32)))
    norm = norm if math.isfinite(norm) else float(torch.linalg.vector_norm(x, dtype=torch.float64))
    return norm * norm if math.isfinite(norm * norm) else NOT_FINITE

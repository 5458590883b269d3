"""A plain step of the center and its copies for the waiting workers, in one pass over memory.

    for each block:   mean of the pushes (in cache) -> theta's block += alpha * mean -> the same block of each destination

Operations on whole vectors would read theta once more for each copy, and would write a mean and read it again.
Blocks begin at multiples of `ALIGN`, so the bits are those of the whole vector.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor

from gradstream.center.parameters.slices import ALIGN

CACHE = 3 << 19
"""Bytes that the blocks of all vectors of a pass take together, so that they fit a core's L2 cache. With half of it, or twice as
much, a pass over 2 MB takes longer."""
SMALLEST, LARGEST = 4 * ALIGN, 64 * ALIGN
"""Elements of a block. Several threads use the largest, so that they wait for one another less often."""
LARGE = 1 << 24
"""Bytes from which on another thread saves more than waking it costs."""


@dataclass(frozen=True, slots=True)
class Descent:
    """A step that is not made yet: theta += alpha * sum_i weight_i x_i. With one x: theta += alpha * x."""

    xs: Sequence[Tensor]
    weights: Sequence[float]
    alpha: float


class OnePass:
    """Steps over one slice of the center, `theta`, shape (n,), contiguous, on the CPU."""

    def __init__(self, theta: Tensor) -> None:
        self._theta = theta
        self._split: dict[tuple[int, int, int], _Blocks] = {}

    def make(self, descent: Descent | None, destinations: Sequence[Tensor]) -> None:
        """Make the step, and copy theta as it is then into each of `destinations`, shape (n,)."""
        hands = self._hands(len(destinations))
        block = self._block(len(destinations), len(descent.xs) if descent else 0) if hands == 1 else LARGEST
        share = -(-self._theta.numel() // (hands * block)) * block
        mine = [slice(hand * share, (hand + 1) * share) for hand in range(hands)]
        others = [self._threads.submit(self._work, descent, destinations, part, block) for part in mine[1:]]
        self._work(descent, destinations, mine[0], block)
        for other in others:
            other.result()

    def _hands(self, destinations: int) -> int:
        """Return the number of threads: one for each worker that waits for this step, since its core is idle until then."""
        return 1 if self._theta.nbytes < LARGE else max(1, min(destinations, _cores()))

    def _block(self, destinations: int, pushes: int) -> int:
        vectors = 1 + destinations + pushes + (pushes > 1)
        return max(SMALLEST, min(LARGEST, CACHE // (vectors * self._theta.itemsize) // ALIGN * ALIGN))

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_cores(), thread_name_prefix="one-pass")

    def _work(self, descent: Descent | None, destinations: Sequence[Tensor], mine: slice, block: int) -> None:
        """Do the work of `make` for one part of the slice."""
        key = mine.start, mine.stop, block
        blocks = self._split.get(key) or self._split.setdefault(key, _Blocks(self._theta[mine], block))
        xs = [x[mine].split_with_sizes(blocks.sizes) for x in descent.xs] if descent else []
        scratch = torch.empty_like(blocks.thetas[0]) if len(xs) > 1 else None
        copies = [_bytes(destination[mine]) for destination in destinations]
        for number, theta in enumerate(blocks.thetas):
            if descent:
                direction = xs[0][number] if scratch is None else _mean([x[number] for x in xs], descent.weights, scratch)
                theta.add_(direction, alpha=descent.alpha)
            for copy in copies:
                np.copyto(copy[blocks.places[number]], blocks.sources[number])  # memcpy, a tenth faster than torch's loop


class _Blocks:
    """Views of the blocks of a part of theta, made once and not for each step."""

    def __init__(self, theta: Tensor, block: int) -> None:
        self.thetas = torch.split(theta, block)
        self.sizes = [len(each) for each in self.thetas]
        """Elements of each block."""
        ends = list(accumulate((each.nbytes for each in self.thetas), initial=0))
        self.places = [slice(*ends_of) for ends_of in pairwise(ends)]
        """Byte range of each block within the part."""
        self.sources = [_bytes(each) for each in self.thetas]


class Whole:
    """The same step, as operations on whole vectors, on any device: a GPU has no cache that blocks would fit into."""

    def __init__(self, theta: Tensor) -> None:
        self._theta = theta

    def make(self, descent: Descent | None, destinations: Sequence[Tensor]) -> None:
        """Do the work of `OnePass.make` in the order of this device's stream. A destination on another device may be
        filled later."""
        if descent:
            xs = descent.xs
            direction = xs[0] if len(xs) == 1 else _mean(xs, descent.weights, torch.empty_like(self._theta))
            self._theta.add_(direction, alpha=descent.alpha)
        for destination in destinations:
            destination.copy_(self._theta, non_blocking=True)


def _mean(xs: Sequence[Tensor], weights: Sequence[float], scratch: Tensor) -> Tensor:
    """Return the weighted mean of one block, in the order and with the bits of `Updates.mean`."""
    mean = torch.mul(xs[0], weights[0], out=scratch[: xs[0].numel()])
    for x, weight in zip(xs[1:], weights[1:], strict=True):
        mean.add_(x, alpha=weight)
    return mean


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _bytes(x: Tensor) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return x.view(torch.uint8).numpy()

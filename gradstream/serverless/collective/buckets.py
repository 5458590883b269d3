"""Sums of vectors over all workers, in buckets: parts of the vector, from its end to its beginning, as backward finishes them. A
bucket may go while backward still runs.

Source: Li et al. 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel Training".
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch._C._distributed_c10d import Work

from gradstream.optim.parameters import starts
from gradstream.serverless.collective.group import GlooGroup
from gradstream.wire.transport.layout import Layout

SMALLEST, LARGEST = 1 << 18, 1 << 23
"""Bytes of a bucket. It takes whole parameters until they have as many as the first, and is split at the second."""


class BucketSums:
    """All workers send the same buckets in the same order, and finish them before they send the first one anew."""

    def __init__(self, group: GlooGroup, layout: Layout, device: torch.device | None = None) -> None:
        """`device`: see `TurnVectors`."""
        self._group, self._buckets = group, vector_buckets(layout)
        self._works: list[Work] = []
        """Those of the buckets that have gone."""
        self.x = torch.zeros(layout.size, dtype=layout.torch_dtype, device=device)
        """The sum, with the same bits for each worker, after `finish`. Shape (size,)."""
        self._before: Tensor | None = None
        """The sum before, where `replace_memory` keeps it."""

    @property
    def has_begun(self) -> bool:
        return bool(self._works)

    def send(self, x: Tensor | None, weight: float, start: int = 0) -> None:
        """Send weight * x in those buckets from `start` on that have not gone yet. `x`: None: zeros."""
        for bucket in self._buckets[len(self._works) :]:
            if bucket.start < start:
                return
            part = self.x[bucket]
            if x is None:
                part.zero_()
            else:
                torch.mul(x[bucket], weight, out=part)
            self._works.append(self._group.begin_sum(part))

    def replace_memory(self) -> None:
        """Let the next sum have memory of its own, and leave this one as it is until that one is followed by another."""
        self.x, self._before = (torch.zeros_like(self.x) if self._before is None else self._before), self.x

    def finish(self) -> None:
        """Wait for the buckets that have gone. Raises: what `GlooGroup` raises."""
        works, self._works = self._works, []
        for work in works:
            self._group.finish(work)


def vector_buckets(layout: Layout) -> list[slice]:
    """Return the buckets in the order in which they go."""
    found, stop = list[slice](), layout.size
    largest = LARGEST // layout.torch_dtype.itemsize
    for start in [*reversed(starts(layout.parameters)[:-1]), 0]:
        if start < stop and (start == 0 or (stop - start) * layout.torch_dtype.itemsize >= SMALLEST):
            found += [slice(max(start, end - largest), end) for end in range(stop, start, -largest)]
            stop = start
    return found

"""The buffers of the center's model. They are no parameters: BatchNorm's running statistics are averaged over the workers
(weighted by examples), never added as if they were gradients; counters come from the lowest rank."""

from __future__ import annotations

from typing import Any

import torch

from gradstream.center.entries import Buffers


def float_buffer_dtype(theta: torch.dtype) -> torch.dtype:
    """Return the dtype in which float buffers travel: that of theta, and float32 at least, as statistics need its digits and its
    range."""
    return torch.promote_types(theta, torch.float32)


class CenterBuffers:
    """The last buffers of each rank. Lives on shard 0 only."""

    def __init__(self, initial: Buffers) -> None:
        self._initial = initial
        self._last: dict[int, tuple[int, Buffers]] = {}

    def copy(self) -> CenterBuffers:
        """Return a copy that later calls of `put` leave alone."""
        found = CenterBuffers(self._initial)
        found._last = dict(self._last)
        return found

    def put(self, rank: int, examples: int, buffers: Buffers) -> None:
        """Keep the buffers of a push, unless it has no examples, as the first push of an elastic worker."""
        if examples:
            self._last[rank] = (examples, buffers)

    def value(self) -> Buffers:
        if not self._last:
            return self._initial
        ranks = sorted(self._last)
        total = sum(self._last[rank][0] for rank in ranks)
        floats = torch.zeros_like(self._initial.floats)
        for rank in ranks:
            examples, buffers = self._last[rank]
            floats.add_(buffers.floats, alpha=examples / total)
        return Buffers(floats, self._last[ranks[0]][1].ints)

    def state(self) -> dict[str, Any]:
        return {
            "initial": tuple(t.clone() for t in self._initial),
            "last": {rank: (examples, *(t.clone() for t in buffers)) for rank, (examples, buffers) in self._last.items()},
        }

    @classmethod
    def load(cls, state: dict[str, Any]) -> CenterBuffers:
        loaded = cls(Buffers(*state["initial"]))
        loaded._last = {rank: (examples, Buffers(floats, ints)) for rank, (examples, floats, ints) in state["last"].items()}
        return loaded

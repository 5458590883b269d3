"""The memory of a worker's processes for gradients, in vectors as long as the model. Pure, and without torch.

    replicate r     each process has what backward leaves; r - 1 vectors are shared, in which the lead finds those of the others
    fsdp m          one vector is shared, to which all add; each process has some buckets, and 1/m of the optimizer's state
    stages s        one vector is shared; each process has the gradients of its blocks
    tensor t        one vector is shared; each process has gradients of its pieces, 1/t of what is split, and of all that is whole

Axes multiply, and each replicate of several processes shares one vector. With fsdp beside stages each process has some buckets of
its blocks, and with fsdp beside tensor what tensor says.

Gradients that a process frees within a step leave holes: the next gradient of the same size rarely fits into one. So
there are holes where micro-batches add up, and with fsdp. `python -m benchmarks.group_memory` measured 6 to 11 times the largest
parameter, and twice as much with fsdp beside stages.
"""

from __future__ import annotations

from dataclasses import dataclass

from gradstream.advise.group.activations import stage_parameters
from gradstream.api.plan import MeasuredSize, Size
from gradstream.spec.roles import WorkerGroup

_HOLES, _MOST_HOLES = 8, 2
"""Gradients that come and go, with their holes, in largest parameters; and at most, in all gradients of the process."""
_BETWEEN_FORWARDS = 2
"""Factor on these in a stage: activations of the next micro-batches come to lie between the gradients."""
_LARGEST = 1 / 16
"""Share of the largest parameter in a model, where it is not known."""


@dataclass(frozen=True, slots=True)
class GradientMemory:
    shared: float
    """Vectors that the processes share beside theta, all together."""
    each: float
    """Vectors that each process has to itself, lead or not."""
    computed: float
    """Share of the parameters that each process computes with."""

    def all(self, peers: int) -> float:
        return self.shared + peers * self.each


def gradient_memory(group: WorkerGroup, size: Size, accumulate: int) -> GradientMemory:
    """Return that of a worker that is such a group; one process is a group of one. `accumulate`: micro-batches of each process."""
    largest = _largest(size)
    computed = stage_parameters(size, group.stages)
    if group.fsdp > 1 and group.tensor == 1:
        factor = _BETWEEN_FORWARDS if group.stages > 1 else 1
        return GradientMemory(group.replicate, factor * min(computed, _HOLES * largest), computed)
    shared, own = group.replicate, computed
    if group.tensor > 1:
        whole = _whole(size)
        own *= (1 - whole) / group.tensor + whole
        largest = largest if whole else largest / group.tensor
    elif group.stages == 1:
        shared -= 1
    holes = min(_MOST_HOLES * own, _HOLES * largest) if accumulate > 1 else 0.0
    return GradientMemory(shared, own + holes, own)


def _largest(size: Size) -> float:
    known = size.largest_parameter if isinstance(size, MeasuredSize) else None
    return known / size.parameters if known else _LARGEST


def _whole(size: Size) -> float:
    """Return the share of the parameters that `tensor` does not split: all, at most, where it is not known."""
    known = size.whole_parameters if isinstance(size, MeasuredSize) else None
    return 1.0 if known is None else known / size.parameters

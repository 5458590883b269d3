"""The activations that forward keeps for backward in a worker's process. Pure, and without torch.

With e examples at a time, a bytes of activations of one, l the share of the largest stage and m its micro-batches:

    one process          e a
    stages s             e a l min(s, m)                         a stage has so many micro-batches at once
    recompute: blocks    e (b n + a k)                           inputs of n blocks of b bytes, and the inside of one, its share k
    bf16, fp16           half of it

`fsdp` and `replicate` leave fewer examples to each process. No formula has the savings of `tensor`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from gradstream.api.plan import MeasuredSize, Size
from gradstream.errors import InvalidWorkload
from gradstream.group.stages.bounds import stage_bounds
from gradstream.spec import JobSpec

_EVALUATED = 4
"""Factor on a block while it is evaluated, for tensors on their way and holes; measured in docs/adr/0163."""
_FILLED_BLOCKS = 2
"""With fsdp on GPUs: the one that computes, and the next one."""


def activations(spec: JobSpec, size: Size) -> int | None:
    """Return the bytes of the process that keeps most of them; None: they are not known."""
    if not isinstance(size, MeasuredSize) or size.activations is None:
        return None
    stages = spec.roles.worker.group.stages
    part = stage_share(size, stages)
    kept = part * (size.activations if spec.recompute == "none" else _recomputed(size, part))
    alive = min(stages, spec.accumulate) * spec.roles.worker.hogwild
    narrow = 1 if spec.precision == "fp32" else 2
    return math.ceil(spec.at_once * alive * kept / narrow)


def evaluation_activations(spec: JobSpec, size: Size) -> int:
    """Return the bytes of a mini-batch in all processes of the evaluator, if there are several; 0: they are not known. Nothing is
    kept for backward, so only one block is in memory at a time."""
    processes = spec.evaluate.processes
    if processes == 1 or not isinstance(size, MeasuredSize) or size.activations is None:
        return 0
    if not size.blocks or size.block_output is None:
        return 0
    block = size.activations * max(size.blocks) / max(1, sum(size.blocks)) + size.block_output
    narrow = 1 if spec.precision == "fp32" else 2
    return math.ceil(processes * spec.evaluate.batch_size * min(size.activations, _EVALUATED * block) / narrow)


def _recomputed(size: MeasuredSize, part: float) -> float:
    """Return the bytes of an example with `recompute: blocks`, if all blocks were in one process; `part`: of them that are."""
    assert size.activations is not None
    if not size.blocks or size.block_output is None:
        return size.activations
    inside = max(size.blocks) / max(1, sum(size.blocks))
    return min(size.activations, len(size.blocks) * size.block_output + size.activations * inside / part)


def stage_share(size: Size, stages: int) -> float:
    """Return the share of the largest stage in the blocks; equal shares where no block is known, or there are too few."""
    blocks = size.blocks if isinstance(size, MeasuredSize) and size.blocks else ()
    return _largest(size, blocks, stages) / sum(blocks) if sum(blocks) else 1 / stages


def stage_parameters(size: Size, stages: int) -> float:
    """Return the share of the parameters that the largest stage computes with: those of its blocks alone, and all others."""
    own = _own_blocks(size)
    if stages == 1 or own is None:
        return 1 / stages
    return min(1.0, (_outside_of_blocks(size, own) + _largest(size, own, stages)) / size.parameters)


def _largest(size: Size, of_blocks: Sequence[int], stages: int) -> float:
    """Return what the blocks of a stage have of this at most; equal parts, where there are too few blocks."""
    blocks = size.blocks if isinstance(size, MeasuredSize) and size.blocks else ()
    try:
        bounds = stage_bounds(blocks, stages)
    except InvalidWorkload:
        return sum(of_blocks) / stages
    return max(sum(of_blocks[start:end]) for start, end in pairwise(bounds))


def filled_parameters(spec: JobSpec, size: Size) -> float:
    """Return the share of the parameters that a process of a group has on its GPU at most. With fsdp, two blocks have memory at a
    time for what no other part of the model has; but all, where no block is known, or torch compiles the model. `tensor` leaves
    parameters whole there."""
    group, own = spec.roles.worker.group, _own_blocks(size)
    whole = stage_parameters(size, group.stages)
    if group.fsdp == 1 or group.tensor > 1 or spec.compile or own is None:
        return whole
    return min(whole, (_outside_of_blocks(size, own) + _FILLED_BLOCKS * max(own)) / size.parameters)


def _own_blocks(size: Size) -> Sequence[int] | None:
    """Return the parameters that each block has and no other part of the model; None: no block is known."""
    if not isinstance(size, MeasuredSize) or not size.blocks:
        return None
    return size.own_blocks or size.blocks


def _outside_of_blocks(size: Size, own: Sequence[int]) -> int:
    """Return the parameters that stand outside of all blocks, or in several."""
    return max(0, size.parameters - sum(own))

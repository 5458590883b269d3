"""The time of a mini-batch in a group, from what one process takes for it. Pure, and without torch.

T is the time of one process, V that of adding one vector like the model to another, m the micro-batches of each process.

    replicate r     T / r + (r - 1) V                          the lead adds the others' gradients
    fsdp n          T / n + V + (n - 1) V b                    b: share of a bucket, for which each process waits in turn
    stages s        T l (m + s - 1) / m + B + V (s - 1) / s    l: share of the largest stage; (m + s - 1) / m: they idle at the ends
    tensor t        T (c / t + 1 - c) + E + V                  c: share of the time in split layers; E: exchanges

B are the bytes between two stages. Each process beside the lead adds a request and its answer.
With replicate beside stages or tensor, or fsdp beside tensor, T, B and the bytes of E are those of a part. Each further one adds V.
With fsdp n beside stages, T and B are those of a part, and each process adds the gradients of its blocks: V / s + (n - 1) V b.
With tensor t beside stages, T of a stage is T (c / t + 1 - c) + E, and each stage makes E / s.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from gradstream.group.stages.bounds import stage_bounds
from gradstream.spec.roles import WorkerGroup

PER_BYTE = 1e-9
"""Seconds for a byte of an activation that another process gets: it is written once and read once."""
EXCHANGE = 30e-6
"""Seconds of an exchange between processes that each have a core, beside its bytes (docs/adr/0129)."""
REQUEST = 100e-6
"""Seconds in which the lead asks another peer for a part and takes its answer."""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """Measurements of a workload in one process, for a whole mini-batch."""

    add: float
    """Seconds to add one vector like the model to another."""
    blocks: tuple[int, ...]
    """Parameters of each block; empty: the model names none."""
    boundary: int
    """Bytes of the largest output of a block."""
    activations: int
    """Bytes that forward keeps for backward."""
    split: float
    """Share of the time of forward in layers that `tensor` splits; 0: none can be split."""
    exchanges: int
    exchanged: int
    """Exchanges of `tensor`, and their bytes."""
    whole: int
    """Parameters that `tensor` leaves whole."""
    bucket: float
    """Share of the model in the largest bucket of fsdp."""


def seconds(group: WorkerGroup, accumulate: int, step: float, facts: GroupFacts) -> float:
    """Return the time of a mini-batch, if each process has a core. `step`: of one process; `accumulate`: micro-batches of each."""
    own, replicates = step / group.parts, group.parts
    ask = REQUEST * (group.peers - 1)
    if group.fsdp > 1 and group.stages == group.tensor == 1:
        return own + facts.add * (1 + (group.fsdp - 1) * facts.bucket) + ask
    if group.stages > 1:
        computed = own * largest_stage(facts, group.stages) * (accumulate + group.stages - 1) / accumulate
        if group.tensor > 1:
            computed *= facts.split / group.tensor + 1 - facts.split
            computed += _exchanges(group, accumulate, facts) * (accumulate + group.stages - 1) / (accumulate * group.stages)
        sent = 2 * facts.boundary * PER_BYTE / replicates
        others = group.parts * group.stages - 1
        added = 1 / group.stages + (group.fsdp - 1) * facts.bucket if group.fsdp > 1 else others / group.stages
        return computed + sent + facts.add * added + ask
    if group.tensor > 1:
        computed = own * (facts.split / group.tensor + 1 - facts.split)
        return computed + _exchanges(group, accumulate, facts) + replicates * facts.add + ask
    return own + (replicates - 1) * facts.add + ask


def _exchanges(group: WorkerGroup, accumulate: int, facts: GroupFacts) -> float:
    """Return the time of the exchanges of `tensor` in a mini-batch."""
    return accumulate * facts.exchanges * EXCHANGE + facts.exchanged * PER_BYTE * (group.tensor - 1) / group.parts


def activations(group: WorkerGroup, accumulate: int, facts: GroupFacts) -> float:
    """Return the bytes of activations in the process that has most of them."""
    part = facts.activations / (group.parts * accumulate)
    part *= facts.split / group.tensor + 1 - facts.split
    return part * largest_stage(facts, group.stages) * min(group.stages, accumulate) if group.stages > 1 else part


def largest_stage(facts: GroupFacts, stages: int) -> float:
    """Return the share of the largest stage in the parameters of all blocks. Raises: InvalidWorkload: there are too few blocks."""
    bounds = stage_bounds(facts.blocks, stages)
    sizes = [sum(facts.blocks[start:end]) for start, end in pairwise(bounds)]
    return max(sizes) / sum(facts.blocks) if sum(facts.blocks) else 1 / stages

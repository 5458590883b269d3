"""The time of a mini-batch in a group, from what one process takes for it. Pure, and without torch.

T is the time of one process for as many micro-batches, V that of adding one vector like the model to another, m the micro-batches
of each process. A micro-batch takes a time that does not shrink with its examples, so T grows with their number.

    replicate r     T / r + (r - 1) V                          the lead adds the others' gradients
    fsdp n          T / n + V + (n - 1) V b                    b: share of a bucket, for which each process waits in turn
    stages s        T l (m + s - 1) / m + B + V / s            l: share of the largest stage; (m + s - 1) / m: they idle at the ends
    tensor t        T (c / t + 1 - c) + E + V                  c: share of the time in split layers; E: exchanges

B are the bytes between two stages. Each process beside the lead adds a request and its answer. Axes multiply: T, B and the bytes
of E are those of a part, a stage adds the gradients of its blocks, V / s, and each further replicate V. With tensor t beside
stages, T of a stage is T (c / t + 1 - c) + E / s, and beside fsdp n the n add one after the other: (n - 1) V / s.

On k machines, each has r / k replicates. The lead sends theta to the others, and adds their gradients as they come. With S the
time of a vector on the lead's link, that takes (k - 1) S + (k - 1) max(S, V) and two latencies more.
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
    own_blocks: tuple[int, ...]
    """Trained parameters that each block has and no other part of the model, of all members."""
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
    fixed: float
    """Seconds of a micro-batch that do not shrink with its examples."""
    parts: int
    """Micro-batches in the mini-batch whose time was measured."""


def seconds(group: WorkerGroup, accumulate: int, step: float, facts: GroupFacts) -> float:
    """Return the time of a mini-batch, if each process has a core. `step`: of one process, in `facts.parts`. `accumulate`:
    micro-batches of each."""
    fixed = min(facts.fixed, step / facts.parts)
    computed = (step - facts.parts * fixed) / group.parts + accumulate * fixed
    if group.tensor > 1:
        computed = computed * (facts.split / group.tensor + 1 - facts.split)
        exchanged = _exchanges(group, accumulate, facts)
    else:
        exchanged = 0.0
    sent = 0.0
    if group.stages > 1:
        idle = (accumulate + group.stages - 1) / accumulate
        computed, exchanged = computed * largest_stage(facts, group.stages) * idle, exchanged / group.stages * idle
        sent = 2 * facts.boundary * PER_BYTE / group.parts
    requests = group.machines - 1 + group.on_one_machine.peers - 1
    return computed + exchanged + sent + facts.add * _added(group.on_one_machine, facts) + REQUEST * requests


def seconds_between_machines(group: WorkerGroup, vector: int, facts: GroupFacts, bandwidth: float, latency: float) -> float:
    """Return the time that theta and the gradients of a mini-batch are on their way between the machines of a group. `vector`:
    bytes of the model. `bandwidth`: bytes per second of the lead's link, each way. `latency`: seconds of a message, one way."""
    others = group.machines - 1
    sent = others * vector / bandwidth
    return sent + max(sent, others * facts.add) + 2 * latency if others else 0.0


def _added(group: WorkerGroup, facts: GroupFacts) -> float:
    """Return the vectors like the model that are added one after the other on one machine."""
    if group.parts == group.peers == group.replicate:
        return group.replicate - 1
    own = 1 / group.stages
    turn = own if group.tensor > 1 else facts.bucket
    return own + (group.fsdp - 1) * turn + group.replicate - 1


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

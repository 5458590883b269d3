"""The shapes that a worker could take on a machine, what each would cost, and the one to choose. Pure, and without torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain, combinations, product
from math import prod
from typing import Any

from pydantic import ValidationError

from gradstream.advise.forecast import memory
from gradstream.advise.group.cost import GroupFacts, activations, seconds
from gradstream.api.plan import MeasuredSize
from gradstream.errors import InvalidWorkload
from gradstream.spec import JobSpec
from gradstream.spec.roles import WorkerGroup

_GAIN = 1.2
"""Factor by which a group has to be faster than a smaller one, to be worth its cores."""
_PARTS_PER_STAGE = 4
"""Micro-batches for each stage, so that stages idle for a fifth of the time."""
_MOST_PEERS = 16
_AXES = ("replicate", "fsdp", "stages", "tensor")
PROCESS = 50e6
"""Bytes that each further process takes beside vectors and activations: it shares PyTorch with its lead."""


@dataclass(frozen=True, slots=True)
class WorkerCapacity:
    """Cores and memory for one worker."""

    cores: int
    memory: float
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A worker of some shape; a group of one process, too."""

    group: WorkerGroup
    accumulate: int
    seconds: float
    """Time of a mini-batch."""
    gain: float
    """Over one process."""
    lead: float
    peer: float
    """Bytes that the lead, and that another peer has to itself, with activations. One process has all in `lead`."""
    memory: float
    """Bytes of all processes."""
    fits: bool

    @property
    def described(self) -> str:
        axes = self.group.counts
        more = f", accumulate {self.accumulate}" if self.group.stages > 1 else ""
        return " x ".join(f"{name} {count}" for name, count in axes.items()) + more if axes else "one process"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "group": self.group.model_dump(), "peers": self.group.peers}


@dataclass(frozen=True, slots=True)
class GroupAdvice:
    shapes: list[Shape]
    """One process, and the fastest shape of each combination of axes, the fastest first."""
    choice: Shape
    reasons: list[str]

    def as_dict(self) -> dict[str, Any]:
        return {"shapes": [each.as_dict() for each in self.shapes], "choice": self.choice.as_dict(), "reasons": self.reasons}


def advise_group(
    spec: JobSpec, step: float, facts: GroupFacts, capacity: WorkerCapacity, parameters: int, largest: int
) -> GroupAdvice:
    """`step`: seconds of a mini-batch in one process. `largest`: elements of the largest parameter."""
    size = MeasuredSize(
        parameters=parameters,
        largest_parameter=largest or None,
        whole_parameters=facts.whole,
        blocks=facts.blocks,
        own_blocks=facts.own_blocks,
    )
    one = _shape(_with(spec, WorkerGroup()) or spec, step, facts, capacity, size)
    candidates = [_with(spec, group) for group in _groups(capacity.cores, spec.roles.worker.threads) if _can(group, facts)]
    every = sorted((_shape(each, step, facts, capacity, size) for each in candidates if each), key=lambda shape: shape.seconds)
    choice, reasons = _choice(spec, one, every, capacity)
    return GroupAdvice([one, *_of_each_kind(every)], choice, reasons)


def group_seconds(spec: JobSpec, step: float, facts: GroupFacts) -> float:
    """Return the time of a mini-batch in a worker of the job's own shape."""
    group = spec.roles.worker.group
    return step if group.peers == 1 or not _can(group, facts) else seconds(group, spec.accumulate, step, facts)


def _groups(cores: int, threads: int) -> Iterator[WorkerGroup]:
    most = min(_MOST_PEERS, cores // threads)
    counts = sorted({*(2**k for k in range(1, _MOST_PEERS.bit_length()) if 2**k <= most), most} - {0, 1})
    for axes in chain.from_iterable(combinations(_AXES, number) for number in range(1, len(_AXES) + 1)):
        if {"replicate", "fsdp"} <= set(axes):
            continue  # fsdp alone computes as many parts at a time, with less memory
        for of_each in product(counts, repeat=len(axes)):
            if prod(of_each) <= most:
                yield WorkerGroup(**dict(zip(axes, of_each, strict=True)))


def _of_each_kind(shapes: list[Shape]) -> Iterator[Shape]:
    """Yield the first of each combination of axes: one that fits, if there is one."""
    seen = set[tuple[str, ...]]()
    for shape in sorted(shapes, key=lambda shape: (not shape.fits, shape.seconds)):
        axes = tuple(shape.group.counts)
        if axes not in seen:
            seen.add(axes)
            yield shape


def _with(spec: JobSpec, group: WorkerGroup) -> JobSpec | None:
    """Return the job with workers of this shape, in micro-batches of the same size or smaller; None: the job file refuses it."""
    whole = spec.model_dump(mode="json")
    parts = spec.accumulate * spec.roles.worker.group.parts
    accumulate = max(-(-parts // group.parts), _PARTS_PER_STAGE * group.stages if group.stages > 1 else 1)
    worker = {**whole["roles"]["worker"], "group": group.model_dump()}
    try:
        return JobSpec.model_validate(whole | {"accumulate": accumulate, "roles": {**whole["roles"], "worker": worker}})
    except ValidationError:
        return None


def _can(group: WorkerGroup, facts: GroupFacts) -> bool:
    """The model can be shared out so."""
    if group.tensor > 1 and not facts.split:
        return False
    try:
        activations(group, 1, facts)
    except InvalidWorkload:
        return False
    return True


def _shape(spec: JobSpec, step: float, facts: GroupFacts, capacity: WorkerCapacity, size: MeasuredSize) -> Shape:
    group, vectors = spec.roles.worker.group, memory(spec, size)
    kept = activations(group, spec.accumulate, facts)
    lead = (vectors.worker if vectors.lead is None else vectors.lead) + kept
    peer = 0.0 if vectors.peer is None else vectors.peer + kept + PROCESS
    everything = vectors.worker + group.peers * kept + (group.peers - 1) * PROCESS
    takes = group_seconds(spec, step, facts)
    return Shape(group, spec.accumulate, takes, step / takes, lead, peer, everything, everything <= capacity.memory)


def _choice(spec: JobSpec, one: Shape, others: list[Shape], capacity: WorkerCapacity) -> tuple[Shape, list[str]]:
    """Choose the fewest processes that are nearly as fast as the fastest shape. `others`: the fastest first."""
    if not others:
        return one, [_why_none(spec, capacity)]
    fitting = [shape for shape in (*others, one) if shape.fits]
    if not fitting:
        least = min([one, *others], key=lambda shape: shape.memory)
        amounts = f"{least.described} takes least, {_gigabytes(least.memory)} of {_gigabytes(capacity.memory)}"
        return least, [f"No shape fits: {amounts}. Take a larger machine, or a larger accumulate."]
    fastest = min(fitting, key=lambda shape: shape.seconds)
    enough = [shape for shape in fitting if shape.gain * _GAIN >= fastest.gain]
    choice = min(enough, key=lambda shape: (shape.group.peers, shape.seconds))
    reasons = [
        f"Not {shape.described}: it takes {_gigabytes(shape.memory)} of {_gigabytes(capacity.memory)}."
        for shape in (one, *_of_each_kind(others))
        if not shape.fits and (shape is one or shape.gain > choice.gain)
    ]
    if choice is not fastest:
        more = fastest.group.peers - choice.group.peers
        times = f"{fastest.gain / choice.gain:.2f} times as fast as {choice.described}"
        if more:
            reasons.append(f"Not {fastest.described}: it is {times}, which is not worth {more} more process{'es' * (more > 1)}.")
    if choice is one:
        return one, [*reasons, "One process: no group is faster by a fifth."]
    quick = f"a mini-batch takes {1000 * choice.seconds:.3g} ms, {choice.gain:.2f} times as fast as in one process"
    return choice, [*reasons, f"{choice.described}: {quick}."]


def _why_none(spec: JobSpec, capacity: WorkerCapacity) -> str:
    threads = spec.roles.worker.threads
    if capacity.cores < 2 * threads:
        return f"One process: a second one would need {2 * threads} cores for a worker, and there are {capacity.cores}."
    return "One process: the job file or the model allows no group; docs/guides/groups.md names what a group cannot do."


def _gigabytes(nbytes: float) -> str:
    return f"{nbytes / 1e9:.2g} GB"

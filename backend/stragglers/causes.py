"""Why a worker is slow, as far as measurements decide it. Pure.

The part of a mini-batch that makes most of the difference to the others is the cause. Where that is computing, the worker's machine
may tell more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend.stragglers.wording import seconds as say
from backend.stragglers.wording import verb
from gradstream.api.stragglers import Cause, StepPart

_MOST = 0.6
"""Share of the difference from which on one part is the cause."""
_ON_CORE = 0.9
"""Share of its computing time that a worker runs on a core, from which on it has that core for itself."""
_IDLE = 0.5
"""Load of a machine, as a share of its processors, below which nothing else keeps them busy."""
_SHOWN = ("compute", "data", "send", "wait", "peer_wait", "other")
_DOES = {
    "compute": "computing",
    "data": "waiting for mini-batches",
    "send": "encoding and sending pushes",
    "wait": "waiting for responses of the servers",
    "peer_wait": "waiting for the other processes of its group",
    "other": "work that is not measured",
}


@dataclass(frozen=True, slots=True)
class WorkerMachine:
    """The surroundings of one worker."""

    node: str
    gpu: bool
    workers: int
    """Workers of the job on this machine."""
    threads: int
    """Their threads in all."""
    cores: float
    """Physical cores that they may use; 0: not measured."""
    load: float | None
    """Load average of the last minute; None: not known, or not of the time in question."""
    cpus: int


def parts_of(mine: Mapping[str, float], others: Mapping[str, float]) -> list[StepPart]:
    """Without parts that take no time on either side."""
    return [
        StepPart(name=name, seconds=mine[name], others=others[name])
        for name in _SHOWN
        if mine.get(name, 0.0) > 0 or others.get(name, 0.0) > 0
    ]


def cause_of(parts: Sequence[StepPart], *, held: bool) -> Cause:
    """`held`: the gate holds workers back, so a wait is no sign of a slow exchange."""
    more = {part.name: part.seconds - part.others for part in parts if part.seconds > part.others}
    if held:
        more.pop("wait", None)
    total = sum(more.values())
    if not total:
        return "unknown"
    name, most = max(more.items(), key=lambda item: item[1])
    found: dict[str, Cause] = {part: part for part in _SHOWN}  # type: ignore[misc]  # `_SHOWN` has these names
    return found[name] if most >= _MOST * total else "several"


def explain(
    cause: Cause,
    parts: Sequence[StepPart],
    own: WorkerMachine | None,
    others: Sequence[WorkerMachine],
    cores: CoreShares,
    silent: float | None,
    *,
    past: bool,
) -> str:
    """`others`: machines of the workers that are not slow. `silent`: seconds without a push, if it is long overdue. `past`: the
    worker is not slow any more, or the job has ended."""
    if silent is not None:
        made = f"It has made no push for {say(silent)}. Its log may say why: it may hang, or its process may be stopped."
        return f"{made} roles.worker.step_timeout ends a worker that hangs."
    if cause == "unknown":
        return f"Why is not known: no measured part of its mini-batches {verb('is', past=past)} longer than that of the others."
    if cause == "several":
        longer = sorted((part for part in parts if part.seconds > part.others), key=lambda part: part.others - part.seconds)
        listed = "; ".join(_compared(part, past=past) for part in longer[:3])
        return f"Several parts of its mini-batches {verb('are', past=past)} longer: {listed}."
    said = _compared(next(part for part in parts if part.name == cause), past=past)
    more = _of_machine(own, others, cores, past=past) if cause == "compute" else ""
    return f"{said[0].upper()}{said[1:]}. {more}".rstrip()


def _compared(part: StepPart, *, past: bool) -> str:
    takes = verb("takes", past=past)
    return f"{_DOES[part.name]} {takes} {say(part.seconds)} of a mini-batch, {say(part.others)} for the others"


@dataclass(frozen=True, slots=True)
class CoreShares:
    """Share of the computing time for which workers ran on a core; None: not measured."""

    own: float | None
    others: float | None
    """The median."""


def _of_machine(own: WorkerMachine | None, others: Sequence[WorkerMachine], cores: CoreShares, *, past: bool) -> str:
    """Say what is measured about the machine, and no more."""
    if own is None:
        return ""
    if not own.gpu and any(machine.gpu for machine in others):
        return f"It {verb('computes', past=past)} on the CPU of {own.node}, and others on a GPU."
    if own.gpu:
        return "Why is not measured on a GPU: it may be slower or shared, or its mini-batches more expensive."
    if cores.own is None:
        return "Why is not known: for how much of that time it ran on a processor core is not measured."
    alike = any(machine.node == own.node for machine in others)
    if cores.own < _ON_CORE:
        return f"{_on_core(cores, past=past)} {_off_core(own, alike=alike, past=past)}"
    has = f"It {verb('has', past=past)} a core for itself"
    if alike:
        return (
            f"{has}, and workers on the same machine {verb('are', past=past)} not slow. So its mini-batches may be more expensive; "
            "the measurements do not decide."
        )
    return (
        f"{has}. {own.node} may be slower than the other machines, or its mini-batches more expensive; "
        "the measurements do not decide."
    )


def is_crowded(own: WorkerMachine, others: Sequence[WorkerMachine]) -> bool:
    """Return whether this worker's machine has too few cores for its workers, and all of them are slow. `others`: machines of the
    workers that are not slow."""
    return not own.gpu and 0 < own.cores < own.threads and all(machine.node != own.node for machine in others)


def _on_core(cores: CoreShares, *, past: bool) -> str:
    compared = f", the others for {_percent(cores.others)}" if cores.others is not None else ""
    return f"It {verb('runs', past=past)} on a processor core for {_percent(cores.own or 0.0)} of that time{compared}."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %"


def _off_core(own: WorkerMachine, *, alike: bool, past: bool) -> str:
    """Why it is not on a core. `alike`: a worker on the same machine is not slow."""
    waits = f"{verb('waits', past=past)} inside of loss()"
    if own.cores and own.threads > own.cores and not alike:
        with_threads = f" with {own.threads} threads" if own.threads != own.workers else ""
        cores = f"{own.cores:.0f} physical core{'s' * (own.cores != 1)}"
        workers = f"{own.workers} worker{'s' * (own.workers != 1)} of this job"
        return f"{workers}{with_threads} {verb('share', past=past)} {cores} of {own.node}."
    if alike:
        are = verb("are", past=past)
        return f"Other workers on {own.node} {are} not slow, so it probably {waits}, for a disk, a network or a lock."
    if own.load is not None and own.load > own.cpus:
        return f"{own.node} is overloaded: {own.load:.1f} processes want to run on its {own.cpus} processors."
    if own.load is not None and own.load < _IDLE * own.cpus:
        return (
            f"{own.node} has processors to spare: its load is {own.load:.1f} on {own.cpus}. So it probably {waits}, "
            "for a disk, a network or a lock."
        )
    return f"It {verb('shares', past=past)} cores with other processes, or {waits}; the measurements do not decide."

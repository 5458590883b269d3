"""The choice of a strategy, from the outlook for every strategy, with the reasons in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pydantic import ValidationError

from gradstream.advise.group.cost import seconds_between_machines
from gradstream.advise.group.shapes import group_seconds
from gradstream.advise.limits import rate, serial_limit
from gradstream.advise.measure import Measurement
from gradstream.advise.outlook import Machines, Outlook, outlook
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES

BUSY_ENOUGH = 0.7
"""Share of the time that workers should compute."""
FAR_ENOUGH = 0.5
"""Share of the limit that the rate may take: curvatures grow while a model trains, and differ between mini-batches."""

NEAR = 0.6
"""Share of its limit above which a strategy is ruled out; above FAR_ENOUGH, so that a slightly narrower limit does not do so."""

_IN_ORDER: tuple[dict[str, Any], ...] = (
    {"name": "sync"},
    {"name": "local_sgd", "window": 4},
    {"name": "local_sgd", "window": 16},
    {"name": "async"},
    {"name": "dynsgd", "window": 5},
    {"name": "dynsgd", "window": 20},
    {"name": "easgd", "window": 10},
    {"name": "local_sgd", "window": 64},
    {"name": "dynsgd", "window": 100},
)
"""Candidates, closest to serial training first. The advice is the first that keeps its workers busy far enough from its limit."""


@dataclass(frozen=True)
class Advice:
    job: Outlook
    """The outlook for the job file as it is."""
    strategies: list[Outlook]
    """All strategies, with the job's rate, optimizer and gate where they fit, else with defaults."""
    choice: Outlook
    rate: float
    """Rate for the choice."""
    reasons: list[str]


def advise(spec: JobSpec, measured: Measurement, machines: Machines) -> Advice:
    def look(candidate: JobSpec) -> Outlook:
        payload = (measured.pushed[candidate.codec.name] + measured.pulled) / 2
        return outlook(
            candidate,
            for_group(candidate, measured, machines),
            payload,
            measured.per_epoch,
            measured.curvature,
            measured.of_rows / 2,
        )

    job = look(spec)
    others = [name for name in STRATEGIES if name != job.name]
    strategies = [job] + [look(found) for name in others if (found := _variant(spec, {"name": name}))]
    calm, slower = _calm(spec, measured)
    choice, reasons = _choice(spec, calm, look)
    lr, last = _rate(choice, measured)
    more = [*_without_servers(choice.spec), *_dealt(choice.spec, machines), *_unpaired(spec, measured)]
    more += _on_several_machines(spec, measured, machines)
    return Advice(job, strategies, choice, lr, [*slower, *reasons, *more, *last])


def for_group(spec: JobSpec, measured: Measurement, machines: Machines) -> Machines:
    """Return the machines with a time of a mini-batch that makes the simulator's worker the group of the job: the simulator divides
    it by `parallelism`."""
    if measured.group is None or spec.roles.worker.group.peers == 1:
        return machines
    step = group_seconds(spec, machines.step, measured.group) + _between_machines(spec, measured, machines)
    return replace(machines, step=step * spec.parallelism)


def _between_machines(spec: JobSpec, measured: Measurement, machines: Machines) -> float:
    """Return the seconds of a mini-batch for which vectors are on their way between the machines of a group."""
    assert measured.group, "the model can be trained by a group"
    group, vector = spec.roles.worker.group, measured.center
    return seconds_between_machines(group, vector, measured.group, machines.bandwidth, machines.latency)


def _calm(spec: JobSpec, measured: Measurement) -> tuple[float, list[str]]:
    """The job's rate, or a lower one at which one process would settle well; and why."""
    lr, alone = rate(spec), serial_limit(spec)
    if not measured.curvature or measured.curvature < 0 or alone is None or lr * measured.curvature <= FAR_ENOUGH * alone:
        return lr, []
    most = FAR_ENOUGH * alone / measured.curvature
    return most, [
        f"Lower the rate from {lr:.3g} to {most:.2g}: at the measured curvature even one process settles only below "
        f"{most / FAR_ENOUGH:.2g}, and curvatures grow while a model trains."
    ]


def _choice(spec: JobSpec, lr: float, look: Callable[[JobSpec], Outlook]) -> tuple[Outlook, list[str]]:
    if spec.roles.worker.count == 1:
        alone = _variant(spec, {"name": "single", "lr": lr}) or spec
        return look(alone), ["One worker needs no strategy: single is plain training."]
    seen: list[Outlook] = []
    passed: list[str] = []
    for settings in _IN_ORDER:
        candidate = _variant(spec, {**settings, "lr": lr})
        if candidate is None:
            continue
        seen.append(look(candidate))
        against = list(_against(seen[-1]))
        if not against:
            return seen[-1], [*passed, f"{seen[-1].described}: its workers compute {seen[-1].busy:.0%} of the time."]
        passed.append(f"Not {seen[-1].described}: {against[0]}.")
    settled = [each for each in seen if each.settles is not False] or seen
    best = max(settled, key=lambda each: each.busy)
    return best, [*passed, f"{best.described} waits least of those that settle: its workers compute {best.busy:.0%} of the time."]


def _against(found: Outlook) -> Iterator[str]:
    if found.settles is False:
        yield "it would diverge at this rate" + (f", {found.distance:.3g} times over its limit" if found.distance else "")
    elif found.distance is not None and found.distance > NEAR:
        yield f"at this rate it is at {found.distance:.0%} of its limit"
    if found.busy < BUSY_ENOUGH:
        yield f"its workers would wait {1 - found.busy:.0%} of the time, for transfers and for one another"


def _rate(choice: Outlook, measured: Measurement) -> tuple[float, list[str]]:
    """The learning rate for the choice, and why."""
    lr = rate(choice.spec)
    if measured.curvature is None or choice.limit is None:
        why = measured.unknown or "no formula for it"
        return lr, [f"How far that is from its limit is not known: {why}. Try it for a moment first."]
    if choice.distance is None or choice.distance <= NEAR:
        return lr, []
    most = FAR_ENOUGH * choice.limit / measured.curvature
    return most, [f"With {choice.described}, lower the rate to {most:.2g}, half of what it settles with."]


def _without_servers(spec: JobSpec) -> Iterator[str]:
    """Name the servers that a choice could do without."""
    if spec.roles.serverless or spec.roles.worker.count == 1:
        return
    whole = spec.model_dump(mode="json")
    try:
        without = JobSpec.model_validate(whole | {"roles": {**whole["roles"], "server": {**whole["roles"]["server"], "count": 0}}})
    except ValidationError:
        return
    yield "If all workers run on one machine, roles.server.count: 0 trains to the same bits, and no server takes a core."
    if without.spreads:
        yield "On several machines it combines pushes by one allreduce of gloo, with the same numbers but for rounding."


def _dealt(spec: JobSpec, machines: Machines) -> Iterator[str]:
    """Name the slow workers that a choice need not wait for at its end."""
    workers = spec.roles.worker.count
    slow = [rank for rank in range(workers) if machines.speeds.slow(rank, workers)]
    if not slow or spec.data.deal == "demand":
        return
    try:
        JobSpec.model_validate(spec.model_dump(mode="json") | {"data": {**spec.data.model_dump(mode="json"), "deal": "demand"}})
    except ValidationError:
        return
    yield (
        f"With data.deal: demand the others train what {len(slow)} slow worker{'s' * (len(slow) > 1)} would; with fixed shares the "
        "job lasts as long as the slowest one. The data set has to be map-style."
    )


def _unpaired(spec: JobSpec, measured: Measurement) -> Iterator[str]:
    """Name the exchanges that a plan of the workload would save."""
    if measured.gathered > 1:
        yield (
            f"With tensor: {spec.roles.worker.group.tensor}, the processes gather the outputs of each of {measured.gathered} "
            "linear layers. A tensor_plan() in the workload that pairs them, colwise and then rowwise, exchanges half as often."
        )


def _on_several_machines(spec: JobSpec, measured: Measurement, machines: Machines) -> Iterator[str]:
    """Say how much of a mini-batch a group on several machines spends on its network."""
    group = spec.roles.worker.group
    if group.machines == 1 or measured.group is None:
        return
    whole = for_group(spec, measured, machines).step / spec.parallelism
    between = _between_machines(spec, measured, machines)
    yield (
        f"With machines: {group.machines}, each mini-batch sends {measured.center / 1e6:.3g} MB to each other machine of a worker "
        f"and gets as much back. That takes {between:.3g} of its {whole:.3g} s; more workers with a window send less."
    )


def takes(spec: JobSpec, codec: str) -> bool:
    """The job file would be valid with this codec."""
    if codec == spec.codec.name:
        return True
    try:
        JobSpec.model_validate(spec.model_dump(mode="json") | {"codec": {"name": codec}})
    except ValidationError:
        return False
    return True


def _variant(spec: JobSpec, strategy: dict[str, Any]) -> JobSpec | None:
    """The job with another strategy at the same rate; the first combination that the job file allows."""
    name = strategy["name"]
    workers = STRATEGIES[name].workers or spec.roles.worker.count
    same = spec.optimizer.model_dump(mode="json", exclude={"lr", "momentum_correction"})
    gate = spec.effective_gate.model_dump(mode="json") if spec.effective_gate.mode in STRATEGIES[name].gates else None
    whole = spec.model_dump(mode="json")
    threads = spec.roles.worker.hogwild if STRATEGIES[name].hogwild else 1
    worker = {**whole["roles"]["worker"], "count": workers, "hogwild": threads}
    codecs, optimizers = (whole["codec"], {"name": "raw"}), (same, {"name": "sgd"})
    deals = dict.fromkeys((spec.data.deal, "shares"))
    for servers, codec, optimizer, chosen, deal in product((spec.roles.server.count, 1), codecs, optimizers, (gate, None), deals):
        roles = {"worker": worker, "server": {"count": servers}}
        changed = {**whole, "strategy": {"lr": rate(spec), **strategy}, "roles": roles, "codec": codec}
        changed |= {"optimizer": optimizer, "gate": chosen, "data": {**whole["data"], "deal": deal}}
        try:
            return JobSpec.model_validate(changed)
        except ValidationError:
            continue
    return None

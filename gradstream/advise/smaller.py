"""Changes of a job file that save memory, the smallest first. Pure, and without torch.

accumulate          parts of a mini-batch, one after another            activations
recompute: blocks   a block keeps its inputs alone                      activations
precision: bf16     autocast                                            activations, for a copy of the weights
group               fsdp, stages, and their product                     gradients, optimizer; parameters on GPUs
                    tensor, and its product with stages                 gradients of a block that is too large for these
server.count: 0     workers hold the model                              the center
device: cpu         of the servers or the workers                       GPUs
worker.count        fewer workers, each a group with their processes    whole models
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import yaml
from pydantic import ValidationError

from gradstream.api.plan import MeasuredSize, Size
from gradstream.spec import JobSpec
from gradstream.spec.roles import Roles, WorkerGroup

_FACTORS = (1, 2, 4, 8, 16)
_MOST_PROCESSES = 16
"""Processes that a proposal makes of one, at most."""
_PARTS_PER_STAGE = 4
"""Micro-batches for each stage, so that stages idle for a fifth of the time."""
_MOST_STEPS = 3
"""Steps that a change is made of, at most, beside `accumulate`."""
_WIDE = 10**6


@dataclass(frozen=True, slots=True)
class _Step:
    """One way to save memory."""

    keys: dict[str, Any]
    """Nested as in the job file."""
    cost: float
    """Order among others with as many steps: time, precision or machines that it takes."""


@dataclass(frozen=True, slots=True)
class Change:
    spec: JobSpec
    lines: list[str]
    """Lines of the job file: each is a whole key at its top."""
    leaves_gpus: bool
    """Its workers compute on CPUs, whatever they did before."""


def smallest_change(spec: JobSpec, size: Size, fits: Callable[[Change], bool]) -> Change | None:
    """Return the smallest change with which the job fits. `accumulate` costs nothing, so it is tried with each of the others."""
    for steps in _combinations(spec, size):
        if (change := _changed(spec, steps)) is None:
            continue
        if steps and fits(change):
            return change
        if found := _in_parts(spec, steps, change, size, fits):
            return found
    return None


def _in_parts(spec: JobSpec, steps: list[_Step], change: Change, size: Size, fits: Callable[[Change], bool]) -> Change | None:
    """Return the change with the fewest micro-batches that fits; None: it does not fit with any number."""
    if not isinstance(size, MeasuredSize) or size.activations is None:
        return None
    now, most = change.spec.accumulate, spec.batch_size // change.spec.roles.worker.group.parts
    counts = [count for doubled in range(1, 21) if (count := now << doubled) <= most]
    found = [_changed(spec, [*steps, _Step({"accumulate": count}, 0)]) for count in counts]
    changes = [each for each in found if each]
    if not changes or not fits(changes[-1]):
        return None  # more micro-batches never need more memory
    return next(each for each in changes if fits(each))


def _combinations(spec: JobSpec, size: Size) -> list[list[_Step]]:
    """Return steps that go together: the fewest first, then the cheapest."""
    known = isinstance(size, MeasuredSize) and size.activations is not None
    of_activations = [
        [None, _Step({"recompute": "blocks"}, 2)] if known and spec.recompute == "none" else [None],
        [None, _Step({"precision": "bf16"}, 5)] if known and spec.precision == "fp32" else [None],
    ]
    servers: list[_Step | None] = [None]
    workers: list[_Step | None] = [None, *_groups(spec, size), *_fewer_workers(spec)]
    if not spec.roles.serverless:
        servers.append(_of_server({"count": 0}, 2))
    if spec.roles.server.device != "cpu":
        servers.append(_of_server({"device": "cpu"}, 3))
    if spec.roles.worker.effective_device != "cpu":
        workers.append(_of_worker({"device": "cpu"}, 9))
    chosen = ([step for step in steps if step] for steps in product(servers, workers, *of_activations))
    return sorted((steps for steps in chosen if len(steps) <= _MOST_STEPS), key=lambda s: (len(s), sum(each.cost for each in s)))


def _groups(spec: JobSpec, size: Size) -> Iterator[_Step]:
    now, blocks = spec.roles.worker.group, size.blocks if isinstance(size, MeasuredSize) else None
    if now.replicate > 1 and now.machines == 1:
        yield _grouped(spec, now.model_copy(update={"replicate": 1, "fsdp": now.parts}), 1)
    for fsdp, stages in product(_FACTORS, _FACTORS):
        few = stages == 1 or now.stages * stages <= len(blocks or ())
        if 1 < fsdp * stages <= _MOST_PROCESSES and few:
            group = now.model_copy(update={"fsdp": now.fsdp * fsdp, "stages": now.stages * stages})
            yield _grouped(spec, group, 3 + (fsdp * stages + stages / 100) / _MOST_PROCESSES)
    yield from _tensor_groups(spec, size)


def _tensor_groups(spec: JobSpec, size: Size) -> Iterator[_Step]:
    """Yield groups that divide layers, where the model is known to allow them."""
    if not isinstance(size, MeasuredSize):
        return
    now, most, blocks = spec.roles.worker.group, size.tensor_processes or 1, len(size.blocks or ())
    for tensor, stages in product(_FACTORS, _FACTORS):
        few = stages == 1 or now.stages * stages <= blocks
        if tensor > 1 and now.tensor * tensor <= most and tensor * stages <= _MOST_PROCESSES and few:
            group = now.model_copy(update={"tensor": now.tensor * tensor, "stages": now.stages * stages})
            yield _grouped(spec, group, 8 + (tensor * stages + stages / 100) / (2 * _MOST_PROCESSES))


def _grouped(spec: JobSpec, group: WorkerGroup, cost: float) -> _Step:
    step = _of_worker({"group": group.counts}, cost)
    if group.stages == spec.roles.worker.group.stages:
        return step
    parts = max(group.stages, min(_PARTS_PER_STAGE * group.stages, spec.batch_size // group.parts))
    return _Step({**step.keys, "accumulate": max(spec.accumulate, parts)}, cost)


def _fewer_workers(spec: JobSpec) -> Iterator[_Step]:
    """Yield groups of the processes that workers are now: a group has one model."""
    count, group = spec.roles.worker.count, spec.roles.worker.group
    for factor in (each for each in _FACTORS if each > 1 and count % each == 0):
        wider = group.model_copy(update={"fsdp": group.fsdp * factor})
        yield _of_worker({"count": count // factor, "group": wider.counts}, 6 + factor / _MOST_PROCESSES)


def _of_server(keys: dict[str, Any], cost: float) -> _Step:
    return _Step({"roles": {"server": keys}}, cost)


def _of_worker(keys: dict[str, Any], cost: float) -> _Step:
    return _Step({"roles": {"worker": keys}}, cost)


def _changed(spec: JobSpec, steps: list[_Step]) -> Change | None:
    """Return None for a job file that would be refused."""
    whole = given = spec.model_dump(mode="json", exclude_unset=True)
    for step in steps:
        whole = _merged(whole, step.keys)
    try:
        changed = JobSpec.model_validate(whole)
    except ValidationError:
        return None
    lines = [f"{key}: {_flow(_short(key, value))}" for key, value in whole.items() if given.get(key) != value]
    return Change(changed, lines, any(step.keys.get("roles", {}).get("worker", {}).get("device") for step in steps))


def _merged(whole: dict[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    """Return the whole with these keys. A group is replaced."""
    merged = dict(whole)
    for key, value in keys.items():
        inside = merged.get(key)
        merged[key] = _merged(inside, value) if isinstance(value, dict) and isinstance(inside, dict) and key != "group" else value
    return merged


def _short(key: str, value: Any) -> Any:
    """Leave out what roles have anyway: the page sends every default."""
    if key != "roles":
        return value
    usual = Roles().model_dump(mode="json")
    short = {role: {name: each for name, each in keys.items() if each != usual[role][name]} for role, keys in value.items()}
    if group := short.get("worker", {}).get("group"):
        short["worker"]["group"] = {axis: count for axis, count in group.items() if isinstance(count, int) and count > 1}
    return {role: keys for role, keys in short.items() if keys}


def _flow(value: Any) -> str:
    """Return the value as YAML on one line."""
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=_WIDE).removesuffix("...\n").strip()

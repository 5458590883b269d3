"""The optimizer and the scheduler that `configure_optimizers` returns, compared with those of the job file.

Servers and workers step by the job file, and a server has no user code. So a module's own optimizer takes no step: it is read, and
a job that says something else is refused with the line that says the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, StepLR

from gradstream.errors import InvalidWorkload
from gradstream.model.buffers import plain_name
from gradstream.optim.schedule import Constant, Cosine, Step
from gradstream.optim.spec import Adagrad, Adam, AdamW, Optimizer, Sgd
from gradstream.spec import JobSpec

LEAVE_OUT = 'or let the job file decide alone: ignores = frozenset({"configure_optimizers"}) in the workload'
_RULES: dict[type[torch.optim.Optimizer], type[Optimizer]] = {
    torch.optim.SGD: Sgd,
    torch.optim.Adagrad: Adagrad,
    torch.optim.Adam: Adam,
    torch.optim.AdamW: AdamW,
}
_SAME_NUMBERS = {"foreach", "fused", "capturable", "differentiable", "initial_lr", "params"}
"""Settings of torch's optimizers that change no step."""
_LOWEST = 0.01
"""Lowest rate of a job's cosine by default, as a share of the full rate: near enough to an `eta_min` of 0."""
_NAMED = 3
"""Parameters in a message."""

Settings = dict[str, Any]


class Configured(NamedTuple):
    optimizer: torch.optim.Optimizer
    scheduler: Any
    """None: the rate does not change."""


def read_configured(given: Any) -> Configured:
    """Read a result of `configure_optimizers` in any form that Lightning knows. Raises: InvalidWorkload: it is not one."""
    optimizers, schedulers = _parts(given)
    if len(optimizers) != 1 or not isinstance(optimizers[0], torch.optim.Optimizer):
        found = "no optimizer" if not optimizers else f"{len(optimizers)} optimizers"
        remedy = "return one optimizer with groups of parameters; a GAN needs another form, see docs/guides/what-does-not-fit.md"
        raise InvalidWorkload(f"configure_optimizers() gives {found}, and a job has one for all parameters; {remedy}")
    if len(schedulers) > 1:
        raise InvalidWorkload(f"configure_optimizers() gives {len(schedulers)} schedulers, and a job has one; {LEAVE_OUT}")
    return Configured(optimizers[0], schedulers[0] if schedulers else None)


def _parts(given: Any) -> tuple[list[Any], list[Any]]:
    """Return the optimizers and the schedulers."""
    if given is None:
        return [], []
    if isinstance(given, Mapping):
        schedulers = [given["lr_scheduler"]] if given.get("lr_scheduler") is not None else []
        return [given.get("optimizer")], [_unpacked(scheduler) for scheduler in schedulers]
    if isinstance(given, list | tuple):
        if len(given) == 2 and all(isinstance(part, list | tuple) for part in given):
            return list(given[0]), [_unpacked(scheduler) for scheduler in given[1]]
        parts = [_parts(part) for part in given]
        return [o for optimizers, _ in parts for o in optimizers], [s for _, schedulers in parts for s in schedulers]
    return [given], []


def _unpacked(scheduler: Any) -> Any:
    return scheduler.get("scheduler") if isinstance(scheduler, Mapping) else scheduler


def check_configured(configured: Configured, spec: JobSpec, model: nn.Module) -> None:
    """Raises: InvalidWorkload: the job file steps in another way than the module asks for."""
    _check_optimizer(configured.optimizer, spec, model)
    if configured.scheduler is not None:
        _check_scheduler(configured.scheduler, spec, configured.optimizer)


def _check_optimizer(own: torch.optim.Optimizer, spec: JobSpec, model: nn.Module) -> None:
    rule = _rule_of(own)
    named = {plain_name(name): p for name, p in model.named_parameters() if p.requires_grad}
    theirs = _by_parameter(own, rule)
    if left_out := [name for name, p in named.items() if id(p) not in theirs]:
        raise InvalidWorkload(
            f"configure_optimizers() leaves out {_listed(left_out)}, and a job trains every parameter that requires a gradient; "
            "freeze them with requires_grad_(False) in the module's __init__"
        )
    _check_groups(named, theirs)
    asked = _line(named, theirs, rule)
    job = spec.optimizer.build(named.items(), lr=spec.strategy.lr)
    if type(spec.optimizer) is not rule:
        raise InvalidWorkload(
            f"configure_optimizers() gives {type(own).__name__}, and the job file has {spec.optimizer.name}: write {asked} in the "
            f"job file, {LEAVE_OUT}"
        )
    ours = _by_parameter(job, type(spec.optimizer))
    for name, p in named.items():
        for key, value in theirs[id(p)].items():
            if not _equal(value, ours[id(p)][key]):
                raise InvalidWorkload(
                    f"configure_optimizers() gives {name} {key}={_plain(value)}, and the job file {_plain(ours[id(p)][key])}: "
                    f"write {asked} in the job file, {LEAVE_OUT}"
                )


def _check_groups(named: Mapping[str, nn.Parameter], settings: Mapping[int, Settings]) -> None:
    """Raises: InvalidWorkload: parameters differ in what groups of a job file leave alike."""
    first, *others = named
    for name in others:
        for key, value in settings[id(named[name])].items():
            if key not in ("lr", "weight_decay") and not _equal(value, same := settings[id(named[first])][key]):
                raise InvalidWorkload(
                    f"configure_optimizers() gives {first} {key}={_plain(same)} and {name} {key}={_plain(value)}, and groups of a "
                    f"job file differ in lr and weight_decay alone; give all parameters one {key}, {LEAVE_OUT}"
                )


def _rule_of(own: torch.optim.Optimizer) -> type[Optimizer]:
    """Return the job file's rule of this optimizer. Raises: InvalidWorkload: it has none."""
    rule = _RULES.get(type(own))
    if rule is None:
        known = ", ".join(kind.__name__ for kind in _RULES)
        raise InvalidWorkload(
            f"configure_optimizers() gives {type(own).__name__}, and a job file knows {known}; take one, {LEAVE_OUT}"
        )
    if rule is Adam and any(group.get("decoupled_weight_decay") for group in own.param_groups):
        rule = AdamW
    make: Any = type(own)
    plain = make([nn.Parameter(torch.empty(0))], lr=0.1).defaults
    for group in own.param_groups:
        for key, value in group.items():
            unknown = key not in _SAME_NUMBERS and key not in rule.model_fields and key != "decoupled_weight_decay"
            if unknown and key in plain and value != plain[key]:
                raise InvalidWorkload(
                    f"configure_optimizers() gives {type(own).__name__} {key}={value}, which the job file's {rule().name} does not "  # type: ignore[attr-defined]
                    f"have; leave it at {plain[key]}, {LEAVE_OUT}"
                )
    return rule


def _by_parameter(own: torch.optim.Optimizer, rule: type[Optimizer]) -> dict[int, Settings]:
    """Return the settings that a job file knows, by the id of the parameter."""
    found: dict[int, Settings] = {}
    for group in own.param_groups:
        known = {key: value for key, value in group.items() if key in rule.model_fields and key not in ("lr", "groups", "name")}
        rate = float(group.get("initial_lr", group["lr"]))
        found |= {id(p): {"lr": rate, **known} for p in group["params"]}
    return found


def _line(named: Mapping[str, nn.Parameter], settings: Mapping[int, Settings], rule: type[Optimizer]) -> str:
    """Return what the job file has to say: `optimizer: {name: adam, lr: 0.001}`."""
    default = rule()
    kinds = list(dict.fromkeys(_frozen(settings[id(p)]) for p in named.values()))
    first = next((kind for kind in kinds if dict(kind)["lr"]), kinds[0])  # a factor of 0 on it keeps others as they are
    base, others = dict(first), [kind for kind in kinds if kind != first]
    fields = {"name": default.name, "lr": base["lr"]}  # type: ignore[attr-defined]
    fields |= {key: value for key, value in base.items() if key != "lr" and not _equal(value, getattr(default, key))}
    groups = []
    for other in map(dict, others):
        for name, p in named.items():
            if dict(_frozen(settings[id(p)])) == other:
                decay = {} if _equal(other["weight_decay"], base["weight_decay"]) else {"weight_decay": other["weight_decay"]}
                factor = {} if _equal(other["lr"], base["lr"]) else {"lr_factor": other["lr"] / base["lr"]}
                groups.append(_flow({"match": name, **factor, **decay}))
    more = f", groups: [{', '.join(groups[:_NAMED])}{', ...' if len(groups) > _NAMED else ''}]" if groups else ""
    return f"`optimizer: {_flow(fields)[:-1]}{more}}}`"


def _frozen(settings: Settings) -> tuple[tuple[str, Any], ...]:
    return tuple((key, _plain(value)) for key, value in settings.items())


def _flow(fields: Settings) -> str:
    return "{" + ", ".join(f"{key}: {_written(value)}" for key, value in fields.items()) + "}"


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value)) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.item()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _equal(a: Any, b: Any) -> bool:
    a, b = _plain(a), _plain(b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return math.isclose(a, b, rel_tol=1e-6) if isinstance(a, float) else bool(a == b)


def _check_scheduler(scheduler: Any, spec: JobSpec, own: torch.optim.Optimizer) -> None:
    """Compare kinds and factors. How long a schedule takes is the job file's alone: it counts samples of all workers."""
    job = spec.schedule
    match scheduler:
        case StepLR(gamma=gamma) | ExponentialLR(gamma=gamma):
            same, asked = (
                isinstance(job, Step) and _equal(job.to, float(gamma)),
                f"`schedule: {{name: step, every: N, to: {gamma:g}}}`",
            )
        case CosineAnnealingLR(eta_min=lowest):
            share = lowest / float(own.param_groups[0].get("initial_lr", own.param_groups[0]["lr"]))
            same = isinstance(job, Cosine) and (_equal(job.to, share) if share else job.to <= _LOWEST)
            asked = f"`schedule: {{name: cosine, over: N, to: {share or _LOWEST:g}}}`"
        case _:
            name = type(scheduler).__name__
            raise InvalidWorkload(
                f"configure_optimizers() gives the scheduler {name}, and a job file knows StepLR, ExponentialLR and "
                f"CosineAnnealingLR; take one, {LEAVE_OUT}"
            )
    if not same:
        has = "none" if isinstance(job, Constant) else f"{job.name} with to: {job.to:g}"
        raise InvalidWorkload(
            f"configure_optimizers() gives the scheduler {type(scheduler).__name__}, and the schedule of the job file is {has}: "
            f"write {asked} with N samples of all workers, {LEAVE_OUT}"
        )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

"""Which modules of a model a tensor-parallel group splits, and how: the plan of the workload, else the model's own, else all linear
layers by their outputs."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from torch import nn

from gradstream.accuracy import described
from gradstream.errors import InvalidWorkload
from gradstream.model import ensemble
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode, blaming

log = logging.getLogger(__name__)

PLACE = "roles.worker.group.tensor"

COLWISE, ROWWISE, GATHERED, ADDED = "colwise", "rowwise", "colwise_gather_output", "replicated_with_grad_allreduce"
STYLES: Mapping[str, str] = {
    COLWISE: COLWISE,
    ROWWISE: ROWWISE,
    GATHERED: GATHERED,
    "colwise_rep": GATHERED,
    "rowwise_rep": ROWWISE,
    "rowwise_split_input": ROWWISE,
    ADDED: ADDED,
}
"""The styles of a plan, with the one that each is here."""
_WHOLE = ("embedding_rowwise", "embedding_colwise", "replicate")
"""Styles of Transformers whose modules stay whole here."""


class PlannedModule(NamedTuple):
    name: str
    """In its member of the model."""
    module: nn.Module
    style: str
    """A value of `STYLES`."""


class TensorPlan(NamedTuple):
    modules: list[PlannedModule]
    origin: str
    """Where it comes from, as a phrase."""
    is_default: bool
    """No plan says which layers could do without an exchange between them."""


def plan_of(model: nn.Module, given: Mapping[str, str] | None, count: int) -> TensorPlan:
    """Return the plan for one member of a model. `given`: what the workload gives; None: nothing. `count`: of the processes.

    Raises: InvalidWorkload: the plan names what the model has not, or what cannot be split."""
    if given is not None:
        plan = TensorPlan(list(_matched(model, _checked(given))), "tensor_plan()", is_default=False)
    elif own := _own_plan(model, count):
        plan = TensorPlan(own, "the plan of the model itself", is_default=False)
    else:
        all_linear = [(name, module) for name, module in model.named_modules() if is_linear(module)]
        wide = [PlannedModule(name, module, GATHERED) for name, module in all_linear if _width(module, GATHERED) >= count]
        if not wide:
            raise InvalidWorkload(
                f"{PLACE}: the model has no nn.Linear with at least {count} outputs, so nothing can be split; take group: {count}, "
                "whose processes compute parts of a mini-batch"
            )
        plan = TensorPlan(wide, "all linear layers by their outputs", is_default=True)
    _check_cuts(plan.modules, count)
    return plan


def planned_modules(code: UserCode, flat: FlatModel, count: int) -> list[PlannedModule]:
    """Return the modules of all members that so many processes split. Raises: UserError."""
    given = code.tensor_plan()
    with blaming("tensor_plan()"):
        plans = [plan_of(member, given, count) for member in ensemble.members(flat.model)]
    planned = [module for plan in plans for module in plan.modules]
    log.info("%s: %d modules are split by %s", PLACE, len(planned), plans[0].origin)
    return planned


def split_parameters(plan: TensorPlan) -> list[nn.Parameter]:
    """Return the parameters of which each process has a piece. A rowwise module's bias is whole."""
    found = []
    for each in plan.modules:
        if each.style != ADDED:
            found += [p for name, p in each.module.named_parameters() if name == "weight" or each.style != ROWWISE]
    return found


def is_linear(module: nn.Module) -> bool:
    """Return whether this is an `nn.Linear` that computes as one, with a weight of its own."""
    return isinstance(module, nn.Linear) and type(module).forward is nn.Linear.forward and "weight" in module._parameters


def _checked(given: object) -> dict[str, str]:
    """Raises: InvalidWorkload: this is no plan."""
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for pair in given.items() for each in pair):
        raise InvalidWorkload(f"tensor_plan() must return a dict of styles by names of modules, not {described(given)}")
    for pattern, style in given.items():
        if style not in STYLES:
            raise InvalidWorkload(f"'{pattern}' has the style '{style}'{_meant(style, STYLES)}")
    return {pattern: STYLES[style] for pattern, style in given.items()}


def _matched(model: nn.Module, plan: Mapping[str, str]) -> Iterator[PlannedModule]:
    """Yield the modules of a workload's plan. Raises: InvalidWorkload."""
    named, by = dict(model.named_modules()), dict[str, str]()
    for pattern, style in plan.items():
        matching = [name for name in named if name and fnmatchcase(name, pattern)]
        if not matching:
            raise InvalidWorkload(f"the model has no module '{pattern}'{_meant(pattern, [n for n in named if n])}")
        found = [name for name in matching if style == ADDED or is_linear(named[name])]
        if not found:
            raise InvalidWorkload(
                f"{matching[0]} is of type {type(named[matching[0]]).__name__}, which cannot be split; name modules "
                "of type nn.Linear, and leave out the others, which each process computes as a whole"
            )
        for name in found:
            if name in by:
                raise InvalidWorkload(f"both '{by[name]}' and '{pattern}' match {name}; let one of them do so")
            by[name] = pattern
            yield PlannedModule(name, named[name], style)


def _own_plan(model: nn.Module, count: int) -> list[PlannedModule]:
    """Return what a model of Transformers says of itself; empty: nothing, or what cannot be done here.

    Raises: InvalidWorkload: it would split through heads of attention."""
    named, own = dict(model.named_modules()), getattr(model, "_tp_plan", None)
    found = {name: style for name in named for pattern, style in (own or {}).items() if fnmatchcase(name, pattern)}
    for name, style in found.items():
        unknown = style not in STYLES and style not in _WHOLE
        if unknown or (style not in _WHOLE and STYLES[style] != ADDED and not is_linear(named[name])):
            log.warning(
                "%s: the model's own plan has '%s' as %s, which cannot be had; all linear layers are split by their outputs",
                PLACE,
                name,
                style,
            )
            return []
    for key in ("num_attention_heads", "num_key_value_heads") if found else ():
        heads = getattr(getattr(model, "config", None), key, None)
        if isinstance(heads, int) and heads % count:
            raise InvalidWorkload(
                f"{PLACE}: {count} processes cannot share out the {heads} heads of the model ({key}); take a number that divides "
                "them, or override tensor_plan() in the workload"
            )
    return [PlannedModule(name, named[name], STYLES[style]) for name, style in found.items() if style not in _WHOLE]


def _check_cuts(planned: list[PlannedModule], count: int) -> None:
    """Raises: InvalidWorkload: there is less to split than there are processes, or one weight would be split in two ways."""
    ways: dict[int, PlannedModule] = {}
    for each in planned:
        if each.style == ADDED:
            continue
        if (width := _width(each.module, each.style)) < count:
            side = "inputs" if each.style == ROWWISE else "outputs"
            raise InvalidWorkload(
                f"{PLACE}: {each.name} has {width} {side}, too few for {count} processes; lower it, or leave it out"
            )
        other = ways.setdefault(id(each.module.weight), each)
        if (each.style == ROWWISE) != (other.style == ROWWISE):
            raise InvalidWorkload(
                f"{other.name} and {each.name} have one weight, and it cannot be split {other.style} and {each.style}"
                "; give both the same style, or leave one out"
            )


def _width(module: nn.Module, style: str) -> int:
    """Return the size of the dimension that the style splits."""
    weight = module.weight
    assert isinstance(weight, nn.Parameter)
    return weight.shape[1 if style == ROWWISE else 0]


def _meant(word: str, known: Mapping[str, str] | list[str]) -> str:
    """Return the rest of a sentence about an unknown word."""
    near = difflib.get_close_matches(word, known, n=1)
    if near:
        return f"; did you mean '{near[0]}'?"
    some = list(known)
    return f"; it has {', '.join(some[:8])}{' ...' if len(some) > 8 else ''}"

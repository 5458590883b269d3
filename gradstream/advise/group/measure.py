"""The measurements of a workload in one process that the advice on groups needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from gradstream.advise.group.cost import GroupFacts
from gradstream.data.source import each
from gradstream.errors import InvalidWorkload
from gradstream.group.tensor.plan import ADDED, COLWISE, GATHERED, ROWWISE, TensorPlan, plan_of, split_parameters
from gradstream.model.computing.block_memory import parameters_of_blocks
from gradstream.model.ensemble import members
from gradstream.model.flat_model import FlatModel
from gradstream.model.parts import of
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec

_ADDITIONS = 3
_PARTS, _MOST_RUNS, _LONGEST = 8, 20, 1.0
"""Parts of a mini-batch of which one is timed; runs of it at most, and the seconds after which none begins."""
_BUCKET = 2**20
"""Bytes of a bucket of fsdp, at least."""


def measure_group(spec: JobSpec, code: UserCode, flat: FlatModel, batch: Any, examples: int) -> GroupFacts:
    """Compute the loss of a mini-batch and of parts of it, a few times. `examples`: of the mini-batch. Raises: what user code
    raises."""
    model = members(flat.model)[0]
    plan, blocks = _plan(spec, code, model), _blocks(code, model)
    look = _LayerLook(plan, blocks)
    began = time.perf_counter()
    code.loss(model, batch)
    forward = time.perf_counter() - began
    look.end()
    split = {id(p) for p in split_parameters(plan)} if plan else set()
    largest = max((4 * p.numel() for p in flat.trained), default=0)
    return GroupFacts(
        _seconds_to_add(flat.theta),
        tuple(sum(p.numel() for p in block.parameters()) for block in blocks),
        _own_parameters(code, flat),
        look.boundary,
        _saved_bytes(code, model, batch) // (1 if spec.precision == "fp32" else 2),
        min(1.0, look.split_seconds / forward) if plan else 0.0,
        sum(2 if planned.style == GATHERED else 1 for planned in plan.modules) if plan else 0,
        look.exchanged,
        sum(p.numel() for p in flat.trained if id(p) not in split),
        min(1.0, max(_BUCKET, largest) / max(1, flat.theta.nbytes)),
        _fixed_seconds(code, flat, model, batch, examples),
        spec.accumulate * spec.roles.worker.group.parts,
    )


def _fixed_seconds(code: UserCode, flat: FlatModel, model: nn.Module, batch: Any, examples: int) -> float:
    """Return the seconds that a micro-batch takes beside those of its examples, with the addition of its gradient."""
    try:
        part = of(batch, examples, max(2, -(-examples // _PARTS)))[0]  # BatchNorm needs two
        times = 1 / part.share
        if times == 1:
            return 0.0
        whole, small = (_shortest(partial(_differentiate, code, model, each)) for each in (batch, part.batch))
    except (InvalidWorkload, UserError):
        return 0.0  # no group can compute it in parts
    finally:
        for p in flat.trained:
            p.grad = None
    return max(0.0, (times * small - whole) / (times - 1))


def _differentiate(code: UserCode, model: nn.Module, part: Any) -> None:
    code.loss(model, part).backward()  # type: ignore[no-untyped-call]


def _shortest(run: Callable[[], None]) -> float:
    times = list[float]()
    while len(times) < _MOST_RUNS and sum(times) < _LONGEST:
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def _saved_bytes(code: UserCode, model: nn.Module, batch: Any) -> int:
    """Return the bytes that forward keeps for backward and that are no parameters, if it computes in their dtype: `precision` also
    keeps narrow copies of parameters, which do not grow with the examples."""
    kept: dict[int, int] = {}
    held: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        held.append(tensor)  # or its address could be that of another one
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda each: each), code.exact():
        code.loss(model, batch)
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    return sum(size for address, size in kept.items() if address not in own)


def _plan(spec: JobSpec, code: UserCode, model: nn.Module) -> TensorPlan | None:
    """Return the plan of a tensor-parallel group; None: nothing can be split."""
    try:
        return plan_of(model, code.tensor_plan(), max(2, spec.roles.worker.group.tensor))
    except (InvalidWorkload, UserError):
        return None


def _blocks(code: UserCode, model: nn.Module) -> Sequence[nn.Module]:
    try:
        return code.blocks(model)
    except (InvalidWorkload, UserError):
        return ()


def _own_parameters(code: UserCode, flat: FlatModel) -> tuple[int, ...]:
    """Return the trained parameters that stand in each block alone. A block that is called again counts once."""
    blocks = [block for member in members(flat.model) for block in _blocks(code, member)]
    own = parameters_of_blocks(flat.model, blocks)
    return tuple(sum(p.numel() for p in own.pop(block, ()) if p.requires_grad) for block in blocks)


def _seconds_to_add(theta: Tensor) -> float:
    one, other, times = torch.ones_like(theta), torch.ones_like(theta), []
    for _ in range(_ADDITIONS):
        began = time.perf_counter()
        one += other
        times.append(time.perf_counter() - began)
    return median(times)


class _LayerLook:
    """At the layers of a model while it computes."""

    def __init__(self, plan: TensorPlan | None, blocks: Sequence[nn.Module]) -> None:
        self.boundary = self.exchanged = 0
        self.split_seconds = 0.0
        self._began = 0.0
        self._hooks = [block.register_forward_hook(self._block) for block in blocks]
        for planned in plan.modules if plan else ():
            if planned.style != ADDED:
                self._hooks.append(planned.module.register_forward_pre_hook(self._begin))
                self._hooks.append(planned.module.register_forward_hook(partial(self._layer, planned.style)))

    def end(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def _block(self, block: nn.Module, given: Any, output: Any) -> None:
        self.boundary = max(self.boundary, _nbytes(output))

    def _begin(self, module: nn.Module, given: Any) -> None:
        self._began = time.perf_counter()

    def _layer(self, style: str, module: nn.Module, given: Any, output: Any) -> None:
        self.split_seconds += time.perf_counter() - self._began
        self.exchanged += {COLWISE: _nbytes(given), ROWWISE: _nbytes(output)}.get(style, _nbytes(given) + _nbytes(output))


def _nbytes(nest: Any) -> int:
    found: list[int] = []
    each(nest, lambda tensor: found.append(tensor.nbytes))
    return sum(found)

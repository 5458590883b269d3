"""Measurements of a workload for the advice: its sizes, the time of a mini-batch, and the curvature of the loss."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gradstream.advise.group.cost import GroupFacts
from gradstream.advise.group.measure import measure_group
from gradstream.advise.tables import MeasuredTable, TablesUnderMeasurement, tables_of
from gradstream.api.plan import TableSize
from gradstream.center.entries import Payload
from gradstream.codecs import CODECS
from gradstream.codecs.base import Codec
from gradstream.group.tensor.plan import TensorPlan, plan_of, split_parameters
from gradstream.input.data import Batches
from gradstream.model.computing.scaled import problem_of
from gradstream.model.ensemble import members
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode, blaming
from gradstream.optim.flat import clipped
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.wire.transport.layout import Layout

_STEPS = 20
"""Mini-batches that are trained to measure the time of one."""
_LONGEST = 10.0
"""Seconds for those after the first, in which kernels may be compiled. Each of the two measurements of the curvature has half."""
_ITERATIONS = 30
_CLOSE = 0.01
"""Relative change of the curvature between two iterations below which it has converged."""


@dataclass(frozen=True)
class Measurement:
    parameters: int
    pushed: dict[str, int]
    """Bytes of a push with its buffers, by codec; the job's own with its settings, others with their defaults."""
    pulled: int
    """Bytes of the center with its buffers, as the job's pull_codec sends it."""
    per_epoch: int
    """Mini-batches of one worker in an epoch."""
    step: float
    """Seconds of a mini-batch: the median of some."""
    curvature: float | None
    """Largest eigenvalue of the Hessian of the loss over one mini-batch: the larger of two, before and after some steps."""
    unknown: str | None
    """Why there is no curvature."""
    center: int
    """Bytes of the parameters without a codec."""
    tables: dict[str, MeasuredTable] = field(default_factory=dict)
    largest: int = 0
    """Elements of the largest parameter."""
    gathered: int = 0
    """Layers whose outputs the processes of a group gather at once, as no plan pairs them; 0 without `tensor`."""
    whole: int | None = None
    """Parameters that `tensor` leaves whole in each process of the job, or of a group of `tensor_processes`; None: all."""
    tensor_processes: int = 1
    """The most processes, of 16, 8, 4 and 2, among which `tensor` can divide layers; 1: it can divide none."""
    group: GroupFacts | None = None
    """Measurements for the advice on groups; None: the model has embedding tables, whose lookups a shape would change."""
    examples: int = 0
    """Examples of the mini-batch that `group` was measured in."""

    def layer_sizes(self, spec: JobSpec) -> dict[str, Any]:
        """Return the members of `MeasuredSize` about blocks and activations. `spec`: the job that was measured. With
        `recompute`, it is not known how many activations it would keep otherwise."""
        if self.group is None or not self.examples:
            return {}
        times = (1 if spec.precision == "fp32" else 2) / self.examples
        activations = math.ceil(times * self.group.activations) if spec.recompute == "none" else None
        blocks = list(self.group.blocks) or None
        layers = {"blocks": blocks, "own_blocks": list(self.group.own_blocks) if blocks else None}
        return layers | {"block_output": math.ceil(times * self.group.boundary), "activations": activations}

    @property
    def saved(self) -> dict[str, float]:
        """Share of a push that each codec saves; below 0 where it makes the push larger."""
        return {codec: 1 - size / self.pushed["raw"] if size else 0.0 for codec, size in self.pushed.items()}

    def epoch_samples(self, spec: JobSpec) -> int | None:
        """Return the samples of an epoch of all workers; None: the data has no end."""
        return None if spec.stop.never else self.per_epoch * spec.batch_size * spec.roles.worker.count

    @property
    def table_sizes(self) -> list[TableSize]:
        """Return the tables that had a key."""
        return [table.size(name) for name, table in self.tables.items() if table.distinct]

    @property
    def of_rows(self) -> float:
        """Bytes of rows and of their gradients, for each mini-batch."""
        return sum(table.pushed + table.looked_up for table in self.tables.values())


def measure(spec: JobSpec, folder: Path) -> Measurement:
    """Train a few mini-batches of the first worker in this process, on the CPU.

    Raises: UserError, InvalidWorkload, DatasetTooSmall."""
    torch.set_num_threads(spec.roles.worker.threads)
    sys.path.insert(0, str(folder.resolve()))
    code = UserCode(spec.model_copy(update={"compile": False}))  # a curvature is a second derivative, which compiled code lacks
    flat = FlatModel(code.model(), torch.device("cpu"))
    batches = Batches(code.dataset("train"), spec, 0, code.batching)
    tables = tables_of(flat.model, spec)
    problem = problem_of(code, flat, batches, spec, tables.rows if tables else None)
    batch, examples = batches.take(0, flat.device)
    look = _Look(code, flat, batch)
    first = look.curvature()
    step, gradient = _trained(problem, spec, tables)
    of_tables = tables.measured() if tables else {}
    looks = [first, look.curvature()] if bool(flat.theta.isfinite().all()) else [first]
    offered = [spec.codec, *(codec() for name, codec in CODECS.items() if name != spec.codec.name)]
    size_of = partial(_bytes, spec, flat)
    found = [each for each in looks if isinstance(each, float)]
    most = _tensor_processes(code, flat)
    gathered, whole = _split(code, flat, spec.roles.worker.group.tensor, most)
    return Measurement(
        flat.theta.numel(),
        {_name(codec): size_of(codec, gradient) for codec in offered},
        size_of(spec.pull_codec, flat.theta),
        batches.per_epoch,
        step,
        max(found, default=None),
        None if found else str(first),
        flat.theta.nbytes,
        of_tables,
        max((parameter.size for parameter in flat.parameters), default=0),
        gathered,
        whole,
        most,
        None if tables else measure_group(spec, code, flat, batch, examples),
        examples,
    )


def _split(code: UserCode, flat: FlatModel, count: int, most: int) -> tuple[int, int | None]:
    """Return `Measurement.gathered`, of one member, and `Measurement.whole`. `count`: processes of the job's `tensor`. `most`: that
    it could have. Raises: UserError: the plan does not fit the model."""
    if count == most == 1:
        return 0, None
    plans = _plans(code, flat, count if count > 1 else most)
    split = {id(p) for plan in plans for p in split_parameters(plan)}
    gathered = len(plans[0].modules) if count > 1 and plans[0].is_default else 0
    return gathered, sum(p.numel() for p in flat.trained if id(p) not in split)


def _tensor_processes(code: UserCode, flat: FlatModel) -> int:
    for count in (16, 8, 4, 2):
        try:
            _plans(code, flat, count)
        except UserError:
            continue
        return count
    return 1


def _plans(code: UserCode, flat: FlatModel, count: int) -> list[TensorPlan]:
    """Return the plan of each member. Raises: UserError: so many processes cannot divide the model."""
    with blaming("tensor_plan()"):
        return [plan_of(member, code.tensor_plan(), count) for member in members(flat.model)]


def _trained(problem: ModelProblem, spec: JobSpec, tables: TablesUnderMeasurement | None) -> tuple[float, Tensor]:
    """Seconds of a mini-batch, and the last gradient."""
    times: list[float] = []
    if tables:
        tables.begin()
    until = math.inf
    for position in range(min(_STEPS, problem.total)):
        began = time.perf_counter()
        g = clipped(problem.gradient(position).g, 1.0)  # so that a rate that is too high does not spoil the second look
        problem.theta.sub_(g, alpha=spec.strategy.lr)
        if tables:
            tables.end_batch()
        times.append(time.perf_counter() - began)
        if position == 0:
            until = time.perf_counter() + _LONGEST
        elif time.perf_counter() > until:
            break
    return sorted(times)[len(times) // 2], g


def _name(codec: Codec) -> str:
    return str(type(codec).model_fields["name"].default)


def _bytes(spec: JobSpec, flat: FlatModel, codec: Codec, x: Tensor) -> int:
    if not x.numel():
        return 0  # the model is tables alone
    layout = Layout.of(x, flat.buffers(), spec.shards)
    whole = Payload(x, flat.buffers())
    return sum(len(layout.encode(codec, layout.part(whole, k))) for k in range(layout.servers))


class _Look:
    """At the curvature on one mini-batch, by power iteration with products of the Hessian and a vector."""

    def __init__(self, code: UserCode, flat: FlatModel, batch: Any) -> None:
        self._code, self._flat, self._batch = code, flat, batch
        self._trained = [p for p in flat.model.parameters() if p.requires_grad]

    def curvature(self) -> float | str:
        """The largest eigenvalue; or why it cannot be had."""
        if not self._trained:
            return "the model has no parameters beside its tables"
        try:
            gradient = self._gradient()
            largest = self._largest(gradient, 0.0)
            # by size it may have been the most negative one: then look again from there
            return largest if largest >= 0 else largest + self._largest(gradient, -largest)
        except RuntimeError as error:  # what torch raises for operations that are differentiable once only
            return f"the loss cannot be differentiated twice: {str(error).splitlines()[0]}"

    def _gradient(self) -> Tensor:
        self._flat.refresh()
        self._flat.model.train()
        loss = self._code.loss(self._flat.model, self._batch)
        return self._joined(torch.autograd.grad(loss, self._trained, create_graph=True, allow_unused=True))

    def _largest(self, gradient: Tensor, shift: float) -> float:
        """The eigenvalue of H + shift that is largest by size."""
        if not gradient.requires_grad:  # linear in all parameters
            return 0.0
        v = torch.randn(gradient.shape, dtype=gradient.dtype, generator=torch.Generator().manual_seed(1))
        v /= v.norm()
        value, until = 0.0, time.perf_counter() + _LONGEST / 2
        for _ in range(_ITERATIONS):
            image = self._joined(torch.autograd.grad(gradient, self._trained, v, retain_graph=True, allow_unused=True)) + shift * v
            before, value = value, float(v @ image)
            norm = float(image.norm())
            if norm == 0 or abs(value - before) <= _CLOSE * abs(value) or time.perf_counter() > until:
                break
            v = image / norm
        return value

    def _joined(self, parts: tuple[Tensor | None, ...]) -> Tensor:
        pairs = zip(parts, self._trained, strict=True)
        return torch.cat([(torch.zeros_like(p) if part is None else part).reshape(-1) for part, p in pairs])

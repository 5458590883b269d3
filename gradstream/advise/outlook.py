"""The outlook for a job: the simulator runs it on formulas with one parameter, with the times and sizes of the real one.

A constant slope gives the speed of the center, the waiting and the traffic; the difference between the end of a run and its
middle leaves out the start. Where no formula is known, a parabola of the measured curvature shows whether training settles.
So this file needs no code for a new strategy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from gradstream import sim
from gradstream.advise.limits import limit, rate
from gradstream.codecs.raw import Raw
from gradstream.optim.schedule import Constant
from gradstream.optim.spec import Sgd
from gradstream.sim.times.speeds import Speeds
from gradstream.sim.toys import ENDLESS, Quadratic
from gradstream.spec import Evaluate, JobSpec, ServerRole, Stop
from gradstream.training.problem import Gradient
from gradstream.training.replica import LossNotFinite

_MINI_BATCHES, _MAX_MINI_BATCHES = 1500, 12_000
"""Mini-batches of all workers in half of a simulated run; and the most, for jobs that take longer to get going."""
_MIN_ROUNDS, _MAX_ROUNDS = 4, 60
_VECTOR = 8
"""Bytes of the one parameter of a formula."""
_ONE = torch.ones(1, dtype=torch.float64)


@dataclass(frozen=True)
class Machines:
    """The machines of the workers."""

    step: float
    """Seconds of a mini-batch."""
    bandwidth: float
    """Bytes per second of each worker's link, in each direction."""
    latency: float
    """Seconds of a message, one way."""
    speeds: Speeds


@dataclass(frozen=True)
class Outlook:
    """The outlook for one strategy with its settings."""

    spec: JobSpec
    pushed: float
    pulled: float
    """Vectors of the model's size, for each mini-batch of a worker."""
    staleness: float
    """Mean over the pushes."""
    busy: float
    """Share of the time in which workers compute."""
    samples_per_second: float
    effective_rate: float
    """The rate that one process would need to move as far per step as the workers do with a mini-batch each."""
    limit: float | None
    """The limit of the rate times the curvature; None: not known."""
    load: float | None
    """The rate times the measured curvature."""
    settles: bool | None
    """True if training settles at the measured curvature; None: neither a formula nor the simulator can tell."""

    @property
    def distance(self) -> float | None:
        """The load as a share of the limit: training settles below 1."""
        return None if self.limit is None or self.load is None else self.load / self.limit if self.limit else math.inf

    @property
    def name(self) -> str:
        return self.spec.strategy.name

    @property
    def window(self) -> int | None:
        """Local steps per push, for strategies that have them."""
        settings: Any = self.spec.strategy
        return getattr(settings, "window", getattr(settings, "n_push", None))

    @property
    def described(self) -> str:
        return f"{self.name} with a window of {self.window}" if self.window and self.window > 1 else self.name


def outlook(
    spec: JobSpec, machines: Machines, payload: float, per_epoch: int, curvature: float | None, of_rows: float = 0.0
) -> Outlook:
    """`payload`: bytes of a vector on the wire, the mean of push and pull. `per_epoch`: mini-batches in a worker's pass over
    its data. `of_rows`: bytes of the rows of embedding tables for a mini-batch, the mean of both ways."""
    formula, n = _as_formula(spec), spec.roles.worker.count
    length = _length(spec, per_epoch)
    rounds, exchanged = _rounds(spec, n * length), payload + of_rows * length
    costs = sim.Costs(machines.speeds, machines.step, machines.latency, machines.bandwidth * _VECTOR / exchanged)
    if spec.shares_memory:  # vectors lie in shared memory
        costs = sim.Costs(machines.speeds, machines.step)
    line, middle = partial(_Line, slope=1.0, per_epoch=per_epoch), n * rounds
    whole = sim.run(formula, line, events=2 * middle, costs=costs, results_at=[middle])
    half = whole.earlier[middle]
    made = _mini_batches(whole) - _mini_batches(half)
    seconds = max(1e-12, whole.time - half.time)
    late = whole.staleness[len(half.staleness) :]
    load = None if curvature is None else curvature * rate(spec)
    known = limit(spec)
    return Outlook(
        spec,
        (whole.bytes.pushed - half.bytes.pushed) / _VECTOR / made,
        (whole.bytes.pulled - half.bytes.pulled) / _VECTOR / made,
        sum(late) / max(1, len(late)),
        min(1.0, (sum(whole.compute.values()) - sum(half.compute.values())) / (n * seconds)),
        made * spec.batch_size / seconds,
        float(half.center - whole.center) * n / made,
        known,
        load,
        None if curvature is None or load is None else _settles(formula, known, load, curvature, per_epoch, rounds),
    )


def _rounds(spec: JobSpec, mini_batches: int) -> int:
    """Return half of a run in rounds of so many mini-batches: a server's momentum needs some rounds to build up."""
    optimizer = spec.optimizer if spec.strategy.descends == "server" else spec.server_optimizer
    momentum = optimizer.momentum if isinstance(optimizer, Sgd) else 0.0
    under_way = min(math.ceil(3 / (1 - momentum)), _MAX_MINI_BATCHES // mini_batches) if momentum > 0 else 0
    return max(_MIN_ROUNDS, min(_MAX_ROUNDS, max(under_way, _MINI_BATCHES // mini_batches)))


_ALIKE: dict[str, Any] = {"clip_norm": None, "clip_parameter_norm": None, "groups": ()}
"""Settings of an optimizer that treats all parameters alike."""


class _Line(Quadratic):
    """slope x + curvature x^2 / 2"""

    def __init__(self, spec: JobSpec, rank: int, slope: float = 0.0, curvature: float = 0.0, per_epoch: int = 1) -> None:
        super().__init__(spec, rank, (1 - slope) * _ONE, curvature * _ONE, -slope * _ONE)
        self.per_epoch = per_epoch
        self._bent, self._slant = curvature, slope
        self._g = torch.zeros_like(_ONE)

    def gradient(self, position: int) -> Gradient:
        """That of the formula with vectors, ten times as fast."""
        x = float(self.theta)
        return Gradient(self._g.fill_(self._bent * x + self._slant), (self._bent * x / 2 + self._slant) * x, self._examples)


def _as_formula(spec: JobSpec) -> JobSpec:
    """The job without what belongs to its beginning, its end, or the length of its vector."""
    gate, server = spec.effective_gate, spec.roles.server.optimizer
    roles = spec.roles.model_copy(update={"server": ServerRole(optimizer=server and server.model_copy(update=_ALIKE))})
    return spec.model_copy(
        update={
            "gate": gate.model_copy(update={"warm_start": None}),
            "roles": roles,
            "stop": Stop(steps=ENDLESS),
            "optimizer": spec.optimizer.model_copy(update=_ALIKE),
            "schedule": Constant(),
            "evaluate": Evaluate(),
            "codec": Raw(),
            "pull_codec": Raw(),
        }
    )


def _length(spec: JobSpec, per_epoch: int) -> int:
    """Mini-batches to a push."""
    return spec.strategy.steps_per_push(per_epoch) or 1  # none at all: one average at the end of the run


def _mini_batches(result: sim.Result) -> int:
    return sum(map(len, result.losses.values()))


def _settles(spec: JobSpec, known: float | None, load: float, curvature: float, per_epoch: int, rounds: int) -> bool | None:
    if known is not None:
        return load < known
    if not (isinstance(spec.optimizer, Sgd) and isinstance(spec.server_optimizer, Sgd)):
        return None
    events = 3 * rounds * spec.roles.worker.count
    try:
        run = sim.run(spec, partial(_Line, curvature=curvature, per_epoch=per_epoch), events=events)
    except LossNotFinite:
        return False
    losses = run.losses[0]
    third = len(losses) // 3
    return max(losses[-third:]) <= max(losses[third : 2 * third]) * 1.0001

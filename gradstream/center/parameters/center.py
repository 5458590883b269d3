"""One slice of the center variable: `s` of a strategy's `apply`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradstream.center.entries import Payload
from gradstream.center.parameters.buffers import CenterBuffers
from gradstream.center.parameters.onepass import Descent, OnePass, Whole
from gradstream.center.parameters.slices import ALIGN
from gradstream.center.parameters.updates import FindMean, PushUpdates
from gradstream.center.tables.payload import RowKeys
from gradstream.optim.flat import FlatOptimizer
from gradstream.optim.parameters import ParameterShape
from gradstream.optim.schedule import Constant, Schedule
from gradstream.own_pages import own_copy, own_empty_like
from gradstream.spec import JobSpec

if TYPE_CHECKING:
    from gradstream.center.tables.hosted import HostedTables  # needs numba, which jobs without tables never import

PART, PART_ON_GPU = 16 * ALIGN, 1 << 22
"""Elements of a part for which `Center.by_parts` computes a rule. On the CPU some of them fit a core's L2 cache."""


class Center:
    """The numbers alone: the shard decides who changes them, and when."""

    def __init__(
        self,
        spec: JobSpec,
        theta: Tensor,
        buffers: CenterBuffers | None,
        *,
        one_pass: bool = True,
        run_length: tuple[int, int] = (0, 0),
        tables: HostedTables | None = None,
        parameters: Sequence[ParameterShape] = (),
    ) -> None:
        """All vectors like `theta` lie on its device; buffers stay on the host. `one_pass`: only on the CPU.
        `parameters`: those in this slice. `run_length`: samples of all workers in an epoch (0: not known), and in the run."""
        self._theta = theta
        self._pass = OnePass(theta) if one_pass else Whole(theta)
        self._due: Descent | None = None
        """A step that `apply_updates` decided on and `finish` makes, together with the copies for the workers that wait."""
        self.buffers, self.tables = buffers, tables
        self.version = 0
        self.samples = 0
        self.epoch_samples, self.total_samples = run_length
        self._strategy = spec.strategy
        self.find_mean: FindMean | None = None
        """Finds the mean of updates whose vectors lie in several processes. None: all lie in this one."""
        self._pull_codec, self._pipeline = spec.pull_codec, spec.pipeline
        self._slots: dict[str, Tensor] = {}
        self._made: Tensor | None = None
        """The result of `by_parts`, allocated once."""
        self._bases: dict[int, dict[int, Tensor]] = {}
        """The centers that each rank was given and may still push from, by version."""
        self._changed = False
        self._calls = 0
        self._schedule: Schedule
        self._average_by = spec.evaluate.average
        self._average = own_copy(theta) if self._average_by else None
        self.n = spec.roles.worker.count
        if spec.strategy.descends == "server":
            lr, self._schedule = spec.strategy.lr, spec.schedule.for_run(self.total_samples)
        else:  # the schedule is the workers'
            lr, self._schedule = 1.0, Constant()
        rule = spec.optimizer_at_servers
        self._optimizer = FlatOptimizer(theta, rule, lr, self.n, parameters, by_parts=one_pass)
        largest = max((parameter.size for parameter in parameters), default=0) if rule.sees == "matrix" else 0
        self.largest_bytes = largest * theta.element_size()
        """Bytes of the largest parameter here, if the rule needs whole ones; else 0."""
        self._schedule_of_rows = spec.schedule.for_run(self.total_samples)

    @property
    def theta(self) -> Tensor:
        """Shape (n,)."""
        self.finish()
        return self._theta

    @theta.setter
    def theta(self, theta: Tensor) -> None:
        """For `s.theta -= x`, which changes it in place and then sets it."""
        assert theta is self._theta, "the center is one vector: change it in place"

    def finish(self, destinations: Sequence[Tensor] = ()) -> None:
        """Make the step that `apply_updates` left to do, and copy theta into each of `destinations`, shape (n,)."""
        due, self._due = self._due, None
        if due or destinations:
            self._pass.make(due, destinations)

    def slot(self, name: str) -> Tensor:
        if name not in self._slots:
            self._slots[name] = own_empty_like(self.theta).zero_()
        return self._slots[name]

    def vector(self) -> Tensor:
        return own_empty_like(self.theta)

    def by_parts(self, rule: Callable[..., Tensor], *vectors: Tensor) -> Tensor:
        self._made = own_empty_like(self.theta) if self._made is None else self._made
        part = PART if self._theta.device.type == "cpu" else PART_ON_GPU
        for out, *parts in zip(*(torch.split(vector, part) for vector in (self._made, *vectors)), strict=True):
            out.copy_(rule(*parts))
        return self._made

    def every(self, k: int) -> bool:
        self._calls += 1
        return self._calls % k == 0

    def descend(self, g: Tensor) -> None:
        self._optimizer.step(g, self._schedule.factor(self.samples))
        self._changed = True

    def add(self, d: Tensor, scale: float = 1.0) -> None:
        self.theta.add_(d, alpha=scale)
        self._changed = True

    def replace(self, x: Tensor) -> None:
        self.theta.copy_(x)
        self._changed = True

    def send(self, x: Tensor) -> Tensor:
        return self._pull_codec.arrives(x.cpu()).to(x.device) if self._pull_codec.lossy else x

    def apply_updates(self, us: PushUpdates) -> bool:
        """Let the strategy apply updates that count together. True: theta changed, the version is one higher.

        A plain step along the mean may stay due until `finish`; it needs the updates' vectors until then."""
        self._changed = False
        self.finish()
        alpha = self._optimizer.plain(self._schedule.factor(self.samples)) if self._strategy.applies_mean else None
        vectors = us.with_mean(self.find_mean(us)) if self.find_mean else us
        if alpha is None:
            self._strategy.apply(self, vectors)
        else:
            self._due, self._changed = Descent([u.x for u in vectors], vectors.weights(), alpha), True
        if self.tables:
            pushes = [(u.rows, weight) for u, weight in zip(us, us.weights(), strict=True)]
            self.tables.push(pushes, self._schedule_of_rows.factor(self.samples))
        self.version += self._changed
        before, self.samples = self.samples, self.samples + sum(u.examples for u in us)
        if self.tables:
            self.tables.shrink_if_due(before, self.samples)
        if self._changed and self._average is not None and self._average_by is not None:
            rate = 1 / (self.version + 1) if self._average_by == "uniform" else self._average_by
            self._average.lerp_(self.theta, rate)
        return self._changed

    def read(self) -> Payload:
        """Return the payload for a worker: theta itself, not a copy, as it is after `finish`."""
        return Payload(self._theta, self.buffers.value() if self.buffers else None)

    def read_for_evaluation(self, keys: Mapping[str, RowKeys] | None = None) -> Payload:
        """Return the average of the center over its versions, if the job evaluates that; else theta itself. `keys`: of rows that
        come with it, a copy."""
        rows = self.tables.look_up(keys) if self.tables and keys else None
        return self.read()._replace(x=self._theta if self._average is None else self._average, rows=rows)

    def base(self, rank: int, version: int) -> Tensor | None:
        """Return the center that this rank was given at this version, if the strategy keeps bases."""
        return self._bases.get(rank, {}).get(version)

    def given_to(self, rank: int, instead_of: int = -1) -> None:
        """Note that the rank is given the center. `instead_of`: a version that did not reach it."""
        if self._strategy.keeps_base:
            given = self._bases.setdefault(rank, {})
            free = given.pop(self.version, given.pop(instead_of, None))
            if len(given) > self._pipeline:
                free = given.pop(min(given))
            sent = self.send(self.theta)
            given[self.version] = own_copy(sent) if free is None else free.copy_(sent)

    def state(self, *, rows: bool = True) -> dict[str, Any]:
        """`rows`: False leaves those of tables out."""
        return {
            "theta": own_copy(self.theta),
            "version": self.version,
            "samples": self.samples,
            "run_length": (self.epoch_samples, self.total_samples),
            "calls": self._calls,
            "average": None if self._average is None else own_copy(self._average),
            "optimizer": self._optimizer.state(),
            "slots": {name: own_copy(slot) for name, slot in self._slots.items()},
            "bases": {rank: {version: own_copy(x) for version, x in given.items()} for rank, given in self._bases.items()},
            "buffers": self.buffers.state() if self.buffers else None,
            **({"tables": self.tables.state(rows=rows)} if self.tables else {}),
        }

    @classmethod
    def load(
        cls,
        spec: JobSpec,
        state: dict[str, Any],
        device: torch.device,
        *,
        one_pass: bool = True,
        tables: HostedTables | None = None,
        parameters: Sequence[ParameterShape] = (),
    ) -> Center:
        """Build a center on `device` from the result of `state`, which may lie on another device."""
        buffers = CenterBuffers.load(state["buffers"]) if state["buffers"] else None
        run_length = state.get("run_length", (0, 0))  # a checkpoint of an older version has none
        theta = state["theta"].to(device, copy=True)
        center = cls(spec, theta, buffers, one_pass=one_pass, run_length=run_length, tables=tables, parameters=parameters)
        center.version, center.samples, center._calls = state["version"], state["samples"], state["calls"]
        if center._average is not None:
            center._average.copy_(state["average"])
        center._optimizer.load(state["optimizer"])
        center._slots = {name: slot.to(device, copy=True) for name, slot in state["slots"].items()}
        center._bases = {
            rank: {version: x.to(device, copy=True) for version, x in given.items()} for rank, given in state["bases"].items()
        }
        return center

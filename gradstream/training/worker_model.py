"""The model of one worker as vectors: theta in its buffer, the local optimizer, and what travels beside theta."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gradstream.center.entries import Buffers, Payload
from gradstream.center.parameters.buffers import float_buffer_dtype
from gradstream.center.tables.payload import RowGradients
from gradstream.observations.histograms import Observations
from gradstream.optim.flat import FlatOptimizer, VectorOptimizer
from gradstream.optim.spec import Sgd
from gradstream.spec import JobSpec
from gradstream.training.problem import (
    CountsPasses,
    Gathers,
    HasTables,
    MakesOptimizer,
    Observes,
    Problem,
    StaysInPlace,
    parameters_of,
)


class NextCenter(NamedTuple):
    """The center that the next pull gives."""

    x: Tensor
    version: int
    buffers: Buffers | None


class WorkerModel:
    """Theta has shape (size,), in the dtype and on the device of the problem, which shares its memory. The optimizer steps in that
    memory, too. The replica computes with it; the link puts centers in and takes out what a push carries."""

    def __init__(self, spec: JobSpec, problem: Problem) -> None:
        self._problem = problem
        self.theta = problem.theta
        """The parameters. Another vector after `set_theta`, if centers arrive where the worker trains."""
        here = spec.strategy.descends == "worker"
        rule, self.parameters = spec.optimizer if here else Sgd(), parameters_of(problem)
        threads, lr = spec.roles.worker.hogwild, spec.strategy.lr
        self.optimizers: list[VectorOptimizer] = (
            [problem.make_optimizer(rule, lr)]
            if isinstance(problem, MakesOptimizer)
            else [FlatOptimizer(problem.theta, rule, lr, parameters=self.parameters) for _ in range(threads)]
        )
        """One for each thread that steps on theta."""
        self.optimizer = self.optimizers[0]
        self._shares_optimizer = spec.strategy.averages_optimizers
        self._keeps_theta = not spec.strategy.pulls_every_round
        self._has_tables = problem if isinstance(problem, HasTables) and problem.tables else None
        self._observes = problem if isinstance(problem, Observes) else None
        self._counts_passes = problem if isinstance(problem, CountsPasses) else None
        self._needs_passes = spec.counts_passes
        self._homes = frozenset[int]()
        """Addresses of the centers that theta may live in."""

    def train_in(self, centers: Sequence[Tensor]) -> None:
        """Train in the buffers into which centers arrive, from the first center on, so that taking one copies nothing. In a group,
        and where centers arrive on another device, theta stays in place. Nothing is written into the buffers: other workers may
        train in them, too."""
        if centers and centers[0].device == self.theta.device and not isinstance(self._problem, StaysInPlace):
            self._homes = frozenset(center.data_ptr() for center in centers)

    def set_theta(self, center: Tensor) -> None:
        """Set theta to this center."""
        if center.data_ptr() in self._homes:
            self._move(center)
        else:
            self.theta.copy_(center)

    def _move(self, theta: Tensor) -> None:
        if theta.data_ptr() != self.theta.data_ptr():
            self._problem.theta = self.theta = theta
            for optimizer in self.optimizers:
                optimizer.move(theta)

    def gather_into(self, out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None] | None) -> None:
        """Gather gradients in the buffer that they are sent from, if it is on the device of theta. `wait_for_push()` waits until it
        may be overwritten; the problem calls `send_ahead(start)`, if given, when all from `start` on is there."""
        if isinstance(self._problem, Gathers) and out.device == self.theta.device:
            self._problem.gather_into(out, wait_for_push, send_ahead)

    @property
    def tables(self) -> Mapping[str, int]:
        """The width of each embedding table of the model, by name."""
        return self._has_tables.tables if self._has_tables else {}

    @property
    def with_tables(self) -> HasTables | None:
        """The problem, if its model has embedding tables."""
        return self._has_tables

    def take_row_gradients(self) -> Mapping[str, RowGradients] | None:
        """Return what a push brings for the tables; None: the model has none. See `HasTables`."""
        return self._has_tables.take_row_gradients() if self._has_tables else None

    def take_observations(self) -> Observations | None:
        """Return what a push brings of them. See `Observes`."""
        return self._observes.take_observations() if self._observes else None

    def passes_over(self, observed: Observations | None) -> int | None:
        """Return the passes that are over for this worker, for a push that brings these observations. None: no server asks."""
        needed = self._needs_passes or observed
        return self._counts_passes.passes_over if needed and self._counts_passes else None

    def buffers(self) -> Buffers | None:
        """Return the vectors that a push brings to be averaged: the buffers, and the optimizer's if the strategy averages these."""
        buffers = self._problem.buffers()
        return piggyback(buffers, self.optimizer.vectors()) if self._shares_optimizer else buffers

    def load_averaged_optimizer(self, buffers: Buffers | None) -> None:
        """Replace this worker's optimizer vectors by the mean that came with a center, if the strategy averages optimizers."""
        if self._shares_optimizer and buffers:
            count = len(self.optimizer.vectors()) * self.theta.numel()
            self.optimizer.set_vectors(list(buffers.floats[buffers.floats.numel() - count :].view(-1, self.theta.numel())))

    def load_center(self, center: Payload, *, with_buffers: bool) -> None:
        """Begin at the center; the model takes as many of its buffers as it has."""
        self.set_theta(center.x)
        if with_buffers and center.buffers:
            self._problem.load_buffers(center.buffers)

    def state(self) -> dict[str, Any]:
        """Return what the next round depends on, on the CPU, a copy. It leaves out theta if rounds begin with a pull."""
        return {
            "theta": self.theta.to("cpu", copy=True) if self._keeps_theta else None,
            "optimizer": self.optimizer.state(),
            "thread_optimizers": [optimizer.state() for optimizer in self.optimizers[1:]],
            "problem": self._problem.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        if state["theta"] is not None:
            self.theta.copy_(state["theta"])
        self.optimizer.load(state["optimizer"])
        for optimizer, kept in zip(self.optimizers[1:], state.get("thread_optimizers", ()), strict=True):
            optimizer.load(kept)
        self._problem.load(state["problem"])


def piggyback(buffers: Buffers | None, vectors: Sequence[Tensor]) -> Buffers | None:
    """Append vectors like theta to the float buffers, on the CPU and in their dtype."""
    if not vectors:
        return buffers
    dtype = float_buffer_dtype(vectors[0].dtype)
    floats, ints = buffers or Buffers(torch.empty(0, dtype=dtype), torch.empty(0, dtype=torch.int64))
    return Buffers(torch.cat([floats, *(vector.to("cpu", dtype) for vector in vectors)]), ints)

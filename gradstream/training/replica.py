"""`w` of a strategy: one worker's model, its place in the data, and its learning rate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from gradstream.center.entries import Payload
from gradstream.center.positions import Position, taken_at
from gradstream.spec import JobSpec
from gradstream.training.batch_count import BatchCount
from gradstream.training.problem import InPieces, Overflows, Prepares, Problem
from gradstream.training.sample_count import SampleCount
from gradstream.training.worker_model import WorkerModel


class LossNotFinite(Exception):
    """The loss is a NaN or an infinity, and `on_nan: fail` ends the job."""

    REMEDY = "lower the learning rate, or set on_nan: drop"


class DataEnded(Exception):
    """A strategy asked for a mini-batch after the last one. Its round must end with the data and push its last steps."""


class Replica:
    """The `WorkerSide` that a strategy's `round` computes with. Its vectors have theta's shape (size,), dtype and device. The link
    uses its parts: `model` for the vectors that travel, `batches` and `samples` for the work done so far."""

    def __init__(self, spec: JobSpec, problem: Problem, on_loss: Callable[[int, float], None] = lambda t, loss: None) -> None:
        """The replica calls `on_loss(t, loss)` for each mini-batch, also for the one that ends the job."""
        self._problem = problem
        self._fails_on_nan = spec.on_nan == "fail"
        self._on_loss = on_loss
        self.on_gradient: Callable[[Tensor], None] | None = None
        """Called with each gradient, shape (size,), if set. It is overwritten by the next one."""
        self._slots: dict[str, Tensor] = {}
        self.model = WorkerModel(spec, problem)
        self.batches = BatchCount(problem)
        self.samples = SampleCount(spec.roles.worker.count, problem)
        self._optimizer = self.model.optimizer
        plain = self._optimizer.plain(1.0) is not None
        self._in_pieces = problem if plain and isinstance(problem, InPieces) else None
        """The problem, if steps need no gathered gradient."""
        self._prepares = problem if isinstance(problem, Prepares) else None
        self._overflows = problem if isinstance(problem, Overflows) else None
        self._lr, self._schedule = spec.strategy.lr, spec.schedule.for_run(problem.total_samples)

    # ---- for a strategy ----------------------------------------------------------------------------------------------------

    @property
    def theta(self) -> Tensor:
        return self.model.theta

    @theta.setter
    def theta(self, same: Tensor) -> None:
        """`w.theta -= x` ends here, after it has changed theta in place."""
        if same is not self.model.theta:
            raise AttributeError("a strategy changes w.theta in place: w.theta.copy_(x) instead of w.theta = x")

    @property
    def t(self) -> int:
        return self.batches.t

    @property
    def n(self) -> int:
        return self.samples.workers

    @property
    def done(self) -> bool:
        return self.batches.done

    @property
    def left(self) -> int:
        return self.batches.left

    @property
    def epoch(self) -> int:
        return self.batches.epoch

    @property
    def lr(self) -> float:
        return self._lr * self._factor

    @property
    def _factor(self) -> float:
        """The schedule's factor for the samples before the last mini-batch, as on a server that descends."""
        return self._schedule.factor(self.samples.before_last_batch)

    @property
    def has_gradients(self) -> bool:
        """More gradients of this round are to be pushed, each by itself: those of a worker's other threads."""
        return False

    def grad(self, at: Tensor | None = None) -> Tensor:
        """Return the gradient of the next mini-batch at theta or `at`. Raises: LossNotFinite, if the job says so. DataEnded."""
        began, t = self._begun(), self.batches.number
        if at is None:
            gradient = self._problem.gradient(t)
        else:
            theta = self.model.theta
            held = theta.clone()
            theta.copy_(at)
            gradient = self._problem.gradient(t)
            theta.copy_(held)
        self._trained(gradient.loss, gradient.examples, began)
        if self.on_gradient:
            self.on_gradient(gradient.g)
        return gradient.g

    def _begun(self) -> float:
        """Return the current time. Raises: DataEnded."""
        if self.batches.done:
            raise DataEnded(f"the data ended after {self.batches.t} mini-batches, and the strategy wants another one")
        return time.perf_counter()

    def _trained(self, loss: float, examples: int, began: float) -> None:
        """Count a mini-batch. Raises: LossNotFinite."""
        t = self.batches.t
        self._on_loss(t, loss)
        if self._fails_on_nan and not math.isfinite(loss):
            raise LossNotFinite(f"the loss of mini-batch {t} is {loss}")
        self.batches.add_batch()
        self.samples.add_batch(examples)
        self.batches.compute_seconds += time.perf_counter() - began

    def descend(self, g: Tensor) -> None:
        if self._overflows and self._overflows.overflowed:
            return
        self._optimizer.step(g, self._factor)

    def reset(self) -> None:
        self._optimizer.reset()

    def step(self) -> None:
        """`descend(grad())`, bit for bit."""
        if self._in_pieces is None or self.on_gradient:
            self.descend(self.grad())
            return
        began = self._begun()
        self._trained(*self._in_pieces.differentiate(self.batches.number), began)
        alpha = self._optimizer.plain(self._factor)
        assert alpha is not None, "an optimizer that was plain stays so"
        self._in_pieces.descend(alpha)

    def local(self, k: int | None) -> int:
        made = 0
        for _ in self.window(k):
            self.step()
            made += 1
        return made

    def window(self, k: int | None) -> Iterator[int]:
        made = 0
        while (k is None or made < k) and not (self.batches.done or (made and self.batches.ends_window)):
            made += 1
            yield made

    def every(self, k: int) -> bool:
        return self.batches.t % k == 0 or self.batches.done

    def slot(self, name: str, first: Tensor | None = None) -> Tensor:
        if name not in self._slots:
            self._slots[name] = torch.zeros_like(self.theta) if first is None else first.clone()
        return self._slots[name]

    # ---- for the link ------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Let the problem fetch the next mini-batch while this worker waits."""
        if self._prepares and not self.batches.done:
            self._prepares.prepare(self.batches.number)

    def start(self, center: Payload, position: Position) -> None:
        """Begin at the center, at this mini-batch. A rank that had an incarnation before takes the center's buffers, too."""
        self.model.load_center(center, with_buffers=taken_at(position) > 0)
        self.batches.go_to(position)

    def state(self) -> dict[str, Any]:
        """Return all that this worker's next round depends on: tensors and plain values, on the CPU, a copy."""
        model = self.model.state()
        return {
            "theta": model["theta"],
            "t": self.batches.t,
            "steps": self.batches.steps,
            "examples": self.samples.unpushed,
            "slots": {name: slot.to("cpu", copy=True) for name, slot in self._slots.items()},
            "optimizer": model["optimizer"],
            "thread_optimizers": model["thread_optimizers"],
            "problem": model["problem"],
        }

    def load(self, state: dict[str, Any]) -> None:
        self.batches.load(state["t"], state["steps"])
        self.samples.unpushed = state["examples"]
        self._slots = {name: slot.to(self.theta.device, copy=True) for name, slot in state["slots"].items()}
        self.model.load(state)

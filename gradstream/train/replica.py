"""`w` of a strategy: one worker's model as a flat vector, with its local optimizer and its place in the data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from gradstream.center.entries import Buffers, Payload
from gradstream.optim.flat import FlatOptimizer
from gradstream.optim.spec import Sgd
from gradstream.spec import JobSpec
from gradstream.train.problem import Gathers, InPieces, Prepares, Problem
from gradstream.train.sample_count import SampleCount


class LossNotFinite(Exception):
    """The loss is a NaN or an infinity, and `on_nan: fail` ends the job."""

    REMEDY = "lower the learning rate, or set on_nan: drop"


class DataEnded(Exception):
    """A strategy asked for a mini-batch after the last one. Its round must end with the data and push its last steps."""


class Replica:
    def __init__(self, spec: JobSpec, problem: Problem, on_loss: Callable[[int, float], None] = lambda t, loss: None) -> None:
        """The replica calls `on_loss(t, loss)` for each mini-batch, also for the one that ends the job."""
        self._problem = problem
        self._fails_on_nan = spec.on_nan == "fail"
        self._on_loss = on_loss
        self._slots: dict[str, Tensor] = {}
        here = spec.strategy.descends == "worker"
        self._optimizer = FlatOptimizer(problem.theta, spec.optimizer if here else Sgd(), spec.strategy.lr)
        plain = self._optimizer.plain(1.0) is not None
        self._in_pieces = problem if plain and isinstance(problem, InPieces) else None
        """The problem, if steps need no gathered gradient."""
        self._prepares = problem if isinstance(problem, Prepares) else None
        self._lr, self._schedule = spec.strategy.lr, spec.schedule.for_run(problem.total_samples)
        self._shares_optimizer = spec.strategy.averages_optimizers
        self._keeps_theta = not spec.strategy.pulls_every_round
        self._homes = frozenset[int]()
        """Addresses of the centers that theta may live in."""
        self.theta = problem.theta
        self.t = 0
        self.steps = 0
        """Mini-batches since the last push."""
        self._samples = SampleCount(spec.roles.worker.count)
        self.compute_seconds = 0.0
        """Seconds of computing since the last push."""

    @property
    def run_length(self) -> tuple[int, int]:
        """Samples of all workers in an epoch (0: not known), and in the whole run."""
        return self._problem.epoch_samples or 0, self._problem.total_samples

    @property
    def done(self) -> bool:
        return self.t >= self._problem.total

    @property
    def has_work(self) -> bool:
        """True if mini-batches are left to train, or trained ones to push."""
        return not self.done or self.steps > 0

    @property
    def left(self) -> int:
        return max(0, self._problem.total - self.t)

    @property
    def seen(self) -> int:
        """Samples that theta was trained on: the center's as of the last response, and this worker's since then."""
        return self._samples.seen

    @property
    def n(self) -> int:
        """Workers that take part, as of the last response."""
        return self._samples.workers

    @property
    def epoch(self) -> int:
        return self._problem.per_epoch

    @property
    def lr(self) -> float:
        return self._lr * self._factor

    @property
    def _factor(self) -> float:
        """The schedule's factor for the samples before the last mini-batch, as on a server that descends."""
        return self._schedule.factor(self._samples.before_last_batch)

    def grad(self, at: Tensor | None = None) -> Tensor:
        """Return the gradient of the next mini-batch at theta or `at`. Raises: LossNotFinite, if the job says so. DataEnded."""
        began = self._begun()
        if at is None:
            gradient = self._problem.gradient(self.t)
        else:
            held = self.theta.clone()
            self.theta.copy_(at)
            gradient = self._problem.gradient(self.t)
            self.theta.copy_(held)
        self._trained(gradient.loss, gradient.examples, began)
        return gradient.g

    def _begun(self) -> float:
        """Return the current time. Raises: DataEnded."""
        if self.done:
            raise DataEnded(f"the data ended after {self.t} mini-batches, and the strategy wants another one")
        return time.perf_counter()

    def _trained(self, loss: float, examples: int, began: float) -> None:
        """Count a mini-batch. Raises: LossNotFinite."""
        self._on_loss(self.t, loss)
        if self._fails_on_nan and not math.isfinite(loss):
            raise LossNotFinite(f"the loss of mini-batch {self.t} is {loss}")
        self.t += 1
        self.steps += 1
        self._samples.add_batch(examples)
        self.compute_seconds += time.perf_counter() - began

    def prepare(self) -> None:
        """Let the problem fetch the next mini-batch while this worker waits."""
        if self._prepares and not self.done:
            self._prepares.prepare(self.t)

    def descend(self, g: Tensor) -> None:
        self._optimizer.step(g, self._factor)

    def reset(self) -> None:
        self._optimizer.reset()

    def step(self) -> None:
        """`descend(grad())`, bit for bit."""
        if self._in_pieces is None:
            self.descend(self.grad())
            return
        began = self._begun()
        self._trained(*self._in_pieces.differentiate(self.t), began)
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
        while (k is None or made < k) and not self.done:
            made += 1
            yield made

    def every(self, k: int) -> bool:
        return self.t % k == 0 or self.done

    def slot(self, name: str, first: Tensor | None = None) -> Tensor:
        if name not in self._slots:
            self._slots[name] = torch.zeros_like(self.theta) if first is None else first.clone()
        return self._slots[name]

    def train_in(self, centers: Sequence[Tensor]) -> None:
        """Train in the buffers into which centers arrive, so that taking one copies nothing. On a GPU, theta stays in place."""
        if centers and not self.theta.is_cuda:
            centers[0].copy_(self.theta)
            self._move(centers[0])
            self._homes = frozenset(center.data_ptr() for center in centers)

    def set_theta(self, center: Tensor) -> None:
        """Set theta to this center."""
        if center.data_ptr() in self._homes:
            self._move(center)
        else:
            self.theta.copy_(center)

    def gather_into(self, out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None] | None) -> None:
        """Gather gradients in the buffer that they are sent from. `wait_for_push()` waits until it may be overwritten; the
        problem calls `send_ahead(start)`, if given, when all from `start` on is there."""

        def wait() -> None:
            began = time.perf_counter()
            wait_for_push()
            self.compute_seconds -= time.perf_counter() - began

        if isinstance(self._problem, Gathers) and not self.theta.is_cuda:
            self._problem.gather_into(out, wait, send_ahead)

    def _move(self, theta: Tensor) -> None:
        if theta.data_ptr() != self.theta.data_ptr():
            self._problem.theta = self.theta = theta
            self._optimizer.move(theta)

    def count_push(self) -> tuple[int, int]:
        """Return the mini-batches and examples since the last push, and count them as pushed."""
        steps, self.steps = self.steps, 0
        return steps, self._samples.post()

    def count_answered(self, examples: int) -> None:
        """Note that a push of so many examples has its response."""
        self._samples.answer(examples)

    def note_center(self, samples: int, workers: int) -> None:
        """Note what a response says: the samples that the center has seen, and the workers that take part."""
        self._samples.center, self._samples.workers = samples, workers

    def buffers(self) -> Buffers | None:
        """Return the vectors that a push brings to be averaged: the buffers, and the optimizer's if the strategy averages these."""
        buffers = self._problem.buffers()
        return piggyback(buffers, self._optimizer.vectors()) if self._shares_optimizer else buffers

    def load_averaged_optimizer(self, buffers: Buffers | None) -> None:
        """Replace this worker's optimizer vectors by the mean that came with a center, if the strategy averages optimizers."""
        if self._shares_optimizer and buffers:
            count = len(self._optimizer.vectors()) * self.theta.numel()
            self._optimizer.set_vectors(list(buffers.floats[buffers.floats.numel() - count :].view(-1, self.theta.numel())))

    def start(self, center: Payload, position: int) -> None:
        """Begin at the center, at this mini-batch. A rank that had an incarnation before takes the center's buffers, too."""
        self.set_theta(center.x)
        self.t = position
        if position and center.buffers:  # of these, the model takes as many as it has
            self._problem.load_buffers(center.buffers)

    def state(self) -> dict[str, Any]:
        """Return all that this worker's next round depends on: tensors and plain values, on the CPU, a copy. It leaves out theta
        if rounds begin with a pull."""
        return {
            "theta": self.theta.to("cpu", copy=True) if self._keeps_theta else None,
            "t": self.t,
            "steps": self.steps,
            "examples": self._samples.unpushed,
            "slots": {name: slot.to("cpu", copy=True) for name, slot in self._slots.items()},
            "optimizer": self._optimizer.state(),
            "problem": self._problem.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        if state["theta"] is not None:
            self.theta.copy_(state["theta"])
        self.t, self.steps, self._samples.unpushed = state["t"], state["steps"], state["examples"]
        self._slots = {name: slot.to(self.theta.device, copy=True) for name, slot in state["slots"].items()}
        self._optimizer.load(state["optimizer"])
        self._problem.load(state["problem"])


def piggyback(buffers: Buffers | None, vectors: Sequence[Tensor]) -> Buffers | None:
    """Append vectors like theta to the buffers, on the CPU."""
    if not vectors:
        return buffers
    floats, ints = buffers or Buffers(torch.empty(0, dtype=vectors[0].dtype), torch.empty(0, dtype=torch.int64))
    return Buffers(torch.cat([floats, *(vector.cpu() for vector in vectors)]), ints)

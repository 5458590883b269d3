"""The replica of a hogwild worker."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from gradstream.hogwild.problem import HogwildProblem
from gradstream.hogwild.threads import HogwildThreads
from gradstream.model.parts import Minibatch
from gradstream.spec import JobSpec
from gradstream.training.problem import Gradient, Problem
from gradstream.training.replica import LossNotFinite, Replica


def make_replica(spec: JobSpec, problem: Problem, on_loss: Callable[[int, float], None]) -> Replica:
    """Build the replica of a worker: with threads, if its problem is for threads."""
    return HogwildReplica(spec, problem, on_loss) if isinstance(problem, HogwildProblem) else Replica(spec, problem, on_loss)


@dataclass
class _SharedSteps:
    """The steps of one call of `local`."""

    wanted: int | None
    made: int = 0
    failed: bool = False
    """A thread has raised an error, so the others make no further step."""


class _NextStep(NamedTuple):
    taken: Minibatch
    factor: float
    """The schedule's, for the samples before this mini-batch."""


class HogwildReplica(Replica):
    """A replica whose mini-batches are trained by several threads.

    A strategy that makes local steps gets all of them from `local`: each thread takes the next mini-batch, and steps on theta
    without a lock, by an optimizer of its own. A strategy that pushes gradients gets as many from a round as there are threads,
    all at the center that the round has pulled."""

    def __init__(
        self, spec: JobSpec, problem: HogwildProblem, on_loss: Callable[[int, float], None] = lambda t, loss: None
    ) -> None:
        super().__init__(spec, problem, on_loss)
        self._shared = problem
        self._threads = HogwildThreads(len(problem.threads))
        self._lock = threading.Lock()
        """Held while a thread takes a mini-batch, counts or reports. Nothing guards theta."""
        self._gradients = deque[tuple[int, int, Gradient]]()
        """Those of this round that are not pushed yet, with the numbers of their threads and the positions of their
        mini-batches."""

    # ---- local steps -------------------------------------------------------------------------------------------------------

    def local(self, k: int | None) -> int:
        steps, began = _SharedSteps(k), time.perf_counter()
        self._threads.run(lambda number: self._step_in_thread(number, steps))
        self.batches.compute_seconds += time.perf_counter() - began
        return steps.made

    def _step_in_thread(self, number: int, steps: _SharedSteps) -> None:
        try:
            while step := self._take_step(steps):
                self._make_step(number, step)
        except BaseException:
            steps.failed = True
            raise

    def _take_step(self, steps: _SharedSteps) -> _NextStep | None:
        """Take the next mini-batch and count it. None: all steps are made, or another thread has failed."""
        with self._lock:
            over = self.batches.done or (steps.made and self.batches.ends_window)
            if steps.failed or over or steps.made == steps.wanted:
                return None
            taken = self._shared.take(self.batches.t)
            self.batches.add_batch()
            self.samples.add_batch(taken.examples)
            steps.made += 1
            return _NextStep(taken, self._factor)

    def _make_step(self, number: int, step: _NextStep) -> None:
        mine, optimizer = self._shared.threads[number], self.model.optimizers[number]
        if self._in_pieces is None:
            gradient = mine.gradient_of(step.taken)
            self._report_loss(step.taken.position, gradient.loss)
            optimizer.step(gradient.g, step.factor)
            return
        self._report_loss(step.taken.position, mine.loss_of(step.taken))
        alpha = optimizer.plain(step.factor)
        assert alpha is not None, "an optimizer that was plain stays so"
        mine.descend(alpha)

    def _report_loss(self, position: int, loss: float) -> None:
        """Raises: LossNotFinite."""
        with self._lock:
            self._on_loss(position, loss)
        if self._fails_on_nan and not math.isfinite(loss):
            raise LossNotFinite(f"the loss of mini-batch {position} is {loss}")

    # ---- gradients ---------------------------------------------------------------------------------------------------------

    @property
    def has_gradients(self) -> bool:
        return bool(self._gradients)

    def grad(self, at: Tensor | None = None) -> Tensor:
        assert at is None, "job files refuse hogwild with a strategy that takes gradients elsewhere"
        began = self._begun()
        if not self._gradients:
            self._compute_gradients()
        number, position, gradient = self._gradients.popleft()
        self._shared.push_alone(number, position, left=len(self._gradients))
        self._trained(gradient.loss, gradient.examples, began)
        if self.on_gradient:
            self.on_gradient(gradient.g)
        return gradient.g

    def _compute_gradients(self) -> None:
        first = self.batches.t
        taken = [self._shared.take(first)]
        while len(taken) < self._threads.count and self._shared.may_take_early(first + len(taken)):
            taken.append(self._shared.take(first + len(taken)))
        found: list[Gradient | None] = [None] * len(taken)

        def compute(number: int) -> None:
            if number < len(taken):
                found[number] = self._shared.threads[number].gradient_of(taken[number])

        self._threads.run(compute)
        self._gradients.extend((number, first + number, gradient) for number, gradient in enumerate(found) if gradient)

    def prepare(self) -> None:
        """Fetch the next mini-batch early, if no gradient of this round is left: the next ones are taken already."""
        if not self._gradients:
            super().prepare()

    def reset(self) -> None:
        for optimizer in self.model.optimizers:
            optimizer.reset()

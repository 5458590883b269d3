"""A job file's own model and data in the simulator: what `sim.run` trains instead of a toy.

    workloads = Workloads(spec, Path("examples/digits"))
    sim.run(spec, workloads, watch=lambda view: print(view.samples, workloads.evaluate(view)), watch_every=6000)

The data set is loaded once and shared; each worker has a model of its own. Beside the data, memory is about four vectors of
the model's size for each worker, and what its optimizer and its strategy keep.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any, Protocol

import numpy
import torch
from torch import Tensor, nn

from gradstream.center.entries import Buffers
from gradstream.evaluation.scoring import Scorer
from gradstream.input import randomness
from gradstream.input.data import Batches, never_empty
from gradstream.model.flat_model import FlatModel, ModelProblem
from gradstream.model.start import model_without_platform
from gradstream.model.usercode import UserCode, blaming
from gradstream.process.begin import seed_of
from gradstream.spec import JobSpec
from gradstream.train.problem import Gradient

_CPU = torch.device("cpu")


class HasCenter(Protocol):
    """A `gradstream.sim.View`, or whatever has a center."""

    def center(self) -> Tensor: ...
    def buffers(self) -> Buffers | None: ...


class Workloads:
    """Makes the problem of each rank, and scores centers."""

    def __init__(self, spec: JobSpec, folder: Path) -> None:
        """`folder`: where the user's modules are. Raises: UserError, InvalidWorkload."""
        if str(folder.resolve()) not in sys.path:
            sys.path.insert(0, str(folder.resolve()))
        self._spec, self._folder = spec, folder
        self._code = UserCode(spec)
        self._data = self._code.dataset("train")
        self._scored: tuple[FlatModel, Scorer] | None = None

    def __call__(self, spec: JobSpec, rank: int) -> Randomly:
        """The same model and data for any number of workers and any strategy: `spec` may differ from the first one in those.

        Raises: DatasetTooSmall, UserError."""
        flat = FlatModel(self._model(), _CPU)
        problem = ModelProblem(self._code, flat, Batches(self._data, spec, rank, self._code.batching), spec.at_once)
        return Randomly(problem, seed_of(spec.seed, "worker", rank))

    def _model(self) -> nn.Module:
        return model_without_platform(self._code, self._spec, self._folder)

    def total_samples(self) -> int:
        """Examples that all workers train in all. Raises: DatasetTooSmall."""
        return Batches(self._data, self._spec, 0, self._code.batching).total_samples

    def epoch_samples(self) -> int | None:
        """Examples of one pass of all workers over the data; None: not known. Raises: DatasetTooSmall."""
        return Batches(self._data, self._spec, 0, self._code.batching).epoch_samples

    def evaluate(self, view: HasCenter) -> dict[str, float]:
        """Means over the evaluation split, weighted by examples, as the platform's evaluator gives them. Raises: UserError."""
        if self._scored is None:
            flat, held_out = FlatModel(self._model(), _CPU), self._code.dataset("eval")
            with blaming("dataset('eval')"):
                never_empty(held_out)
            self._scored = flat, Scorer(self._code, flat.model, held_out, self._spec.evaluate.batch_size, _CPU)
        flat, scorer = self._scored
        flat.theta.copy_(view.center())
        if buffers := view.buffers():
            flat.load_buffers(buffers)
        flat.refresh()
        return scorer.score()


class Randomly:
    """A worker's `Problem`, with generators of random numbers of its own: dropout, augmentation. They begin as in the process
    of that worker on the platform."""

    def __init__(self, problem: ModelProblem, seed: int) -> None:
        self._problem = problem
        self.theta = problem.theta
        self.total, self.per_epoch, self.total_samples = problem.total, problem.per_epoch, problem.total_samples
        self.epoch_samples = problem.epoch_samples
        self._own = _from_seed(seed)

    def gradient(self, position: int) -> Gradient:
        with _Swapped(self):
            return self._problem.gradient(position)

    def buffers(self) -> Buffers | None:
        return self._problem.buffers()

    def load_buffers(self, buffers: Buffers) -> None:
        self._problem.load_buffers(buffers)

    def state(self) -> dict[str, Any]:
        with _Swapped(self):
            return self._problem.state()

    def load(self, state: dict[str, Any]) -> None:
        with _Swapped(self):
            self._problem.load(state)


class _Swapped:
    """Inside, the process's generators are those of the worker."""

    def __init__(self, worker: Randomly) -> None:
        self._worker = worker

    def __enter__(self) -> None:
        self._before = randomness.generators()
        randomness.set_generators(self._worker._own)

    def __exit__(self, *_: object) -> None:
        self._worker._own = randomness.generators()
        randomness.set_generators(self._before)


def _from_seed(seed: int) -> randomness.Generators:
    """States right after seeding, without touching the process's own."""
    return (
        torch.Generator().manual_seed(seed).get_state(),
        random.Random(seed).getstate(),
        numpy.random.RandomState(seed).get_state(),
    )

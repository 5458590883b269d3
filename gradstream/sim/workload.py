"""A job file's own model and data in the simulator: what `sim.run` trains instead of a toy.

    workloads = Workloads(spec, Path("examples/digits"))
    sim.run(spec, workloads, watch=lambda view: print(view.samples, workloads.evaluate(view)), watch_every=6000)

The data set is loaded once and shared; each worker has a model of its own. Beside the data, memory is about four vectors of
the model's size for each worker, and what its optimizer and its strategy keep.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

import numpy
import torch
from torch import Tensor, nn

from gradstream.center.entries import Buffers
from gradstream.center.positions import Place
from gradstream.center.tables.payload import FoundRows, RowGradients, RowKeys
from gradstream.evaluation.scoring import Scorer
from gradstream.input import randomness
from gradstream.input.data import Batches, never_empty
from gradstream.model.computing.scaled import ScaledProblem, problem_of
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.tables import working_rows
from gradstream.model.usercode import UserCode, blaming
from gradstream.model.weights.start import model_without_platform
from gradstream.observations.histograms import Observations
from gradstream.process.begin import seed_of
from gradstream.spec import JobSpec
from gradstream.training.granted import GrantedBatches
from gradstream.training.problem import Gradient

if TYPE_CHECKING:
    from gradstream.model.rows.working_rows import WorkingRows

_CPU = torch.device("cpu")
P = ParamSpec("P")
T = TypeVar("T")


class HasCenter(Protocol):
    """A `gradstream.sim.View`, or whatever has a center."""

    def center(self) -> Tensor: ...
    def buffers(self) -> Buffers | None: ...
    def look_up(self, keys: Mapping[str, RowKeys]) -> Mapping[str, FoundRows]: ...


class Workloads:
    """Makes the problem of each rank, and scores centers."""

    def __init__(self, spec: JobSpec, folder: Path) -> None:
        """`folder`: where the user's modules are. Raises: UserError, InvalidWorkload."""
        if str(folder.resolve()) not in sys.path:
            sys.path.insert(0, str(folder.resolve()))
        self._spec, self._folder = spec, folder
        self._code = UserCode(spec)
        self._data = self._code.dataset("train")
        self._scored: tuple[FlatModel, Scorer, WorkingRows | None] | None = None

    def __call__(self, spec: JobSpec, rank: int) -> Randomly:
        """The same model and data for any number of workers and any strategy: `spec` may differ from the first one in those.

        Raises: DatasetTooSmall, UserError."""
        flat = FlatModel(self._model(), _CPU)
        rows = working_rows(flat.model, spec)
        problem = problem_of(self._code, flat, Batches(self._data, spec, rank, self._code.batching), spec, rows)
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
            scorer = Scorer(self._code, flat.model, held_out, self._spec.evaluate.batch_size, _CPU)
            self._scored = flat, scorer, working_rows(flat.model, self._spec)
        flat, scorer, rows = self._scored
        if rows:
            rows.held.look_up = view.look_up
            rows.take_gradients()  # forget the rows of the evaluation before
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
        self.epoch_samples, self.planned = problem.epoch_samples, problem.planned
        self._own = _from_seed(seed)
        self._swapped = _Swapped(self)

    def gradient(self, position: int) -> Gradient:
        with self._swapped:
            return self._problem.gradient(position)

    @property
    def overflowed(self) -> bool:
        return isinstance(self._problem, ScaledProblem) and self._problem.overflowed

    @property
    def tables(self) -> Mapping[str, int]:
        return self._problem.tables

    def look_up_with(
        self, look_up: Callable[[Mapping[str, RowKeys]], Mapping[str, FoundRows]], await_asked: Callable[[], None]
    ) -> None:
        """Other workers run while this one waits for rows, in the midst of its gradient: with their generators, not its own."""
        self._problem.look_up_with(self._swapped.outside(look_up), self._swapped.outside(await_asked))

    def take_row_gradients(self) -> Mapping[str, RowGradients]:
        with self._swapped:
            return self._problem.take_row_gradients()

    def keys_ahead(self, position: int, batches: int) -> Mapping[str, RowKeys] | None:
        with self._swapped:
            return self._problem.keys_ahead(position, batches)

    def hold_asked_rows(self, found: Mapping[str, FoundRows]) -> None:
        self._problem.hold_asked_rows(found)

    def forget_asked_rows(self) -> None:
        self._problem.forget_asked_rows()

    def take_from(self, granted: GrantedBatches) -> None:
        self._problem.take_from(granted)

    def take_observations(self) -> Observations | None:
        return self._problem.take_observations()

    @property
    def passes_over(self) -> int:
        return self._problem.passes_over

    def place(self) -> Place:
        return self._problem.place()

    def go_to(self, position: int, place: Place) -> None:
        self._problem.go_to(position, place)

    def buffers(self) -> Buffers | None:
        return self._problem.buffers()

    def load_buffers(self, buffers: Buffers) -> None:
        self._problem.load_buffers(buffers)

    def state(self) -> dict[str, Any]:
        with self._swapped:
            return self._problem.state()

    def load(self, state: dict[str, Any]) -> None:
        with self._swapped:
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

    def outside(self, wait: Callable[P, T]) -> Callable[P, T]:
        """Return `wait` for use inside: it runs outside."""

        def wait_outside(*args: P.args, **kwargs: P.kwargs) -> T:
            self.__exit__()
            try:
                return wait(*args, **kwargs)
            finally:
                self.__enter__()

        return wait_outside


def _from_seed(seed: int) -> randomness.Generators:
    """States right after seeding, without touching the process's own."""
    return (
        [torch.Generator().manual_seed(seed).get_state()],
        random.Random(seed).getstate(),
        numpy.random.RandomState(seed).get_state(),
    )

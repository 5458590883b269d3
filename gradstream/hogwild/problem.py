"""The problem of a hogwild worker: one source of mini-batches, and a model for each thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.center.tables.payload import RowGradients, RowKeys
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.observations.histograms import Observations
from gradstream.spec import JobSpec
from gradstream.training.problem import Gradient

if TYPE_CHECKING:
    from gradstream.model.rows.working_rows import WorkingRows


class HogwildProblem(ModelProblem):
    """Takes mini-batches for all threads, one after another, and stands for the worker's model. Each thread computes with a problem
    of its own, one of `threads`, whose parameters are views of the same theta."""

    def __init__(
        self,
        code: UserCode,
        flats: Sequence[FlatModel],
        batches: Batches | Prefetched,
        spec: JobSpec,
        rows: WorkingRows | None = None,
    ) -> None:
        """`flats`: a model for each thread, of one theta. `rows`: of the first one, if it has tables. Raises: InvalidWorkload:
        threads cannot share this data."""
        if batches.followed and spec.strategy.hogwild == "gradients":
            raise InvalidWorkload(
                f"roles.worker.hogwild: '{spec.strategy.name}' pushes the gradient of each thread by itself, and data that grows "
                "is counted as it is taken; remove hogwild, or choose a strategy with a window, such as adag"
            )
        super().__init__(code, flats[0], batches, spec.at_once, rows)
        self._flats, self._pushes_gradients = list(flats), spec.strategy.hogwild == "gradients"
        self._rows_of_threads = [rows, *(rows.beside(flat.model) for flat in flats[1:])] if rows else []
        """All read the rows that one of them has looked up. Each has the gradients of its own mini-batches."""
        of_threads: Sequence[WorkingRows | None] = self._rows_of_threads or [None] * len(flats)
        self.threads = [
            ModelProblem(code, flat, batches, spec.at_once, of_thread) for flat, of_thread in zip(flats, of_threads, strict=True)
        ]
        self.on_core = self.threads[0].on_core
        self._pushing: int | None = None
        """The thread whose gradient is pushed next; None: the push brings the work of all."""
        self._left = 0
        """Gradients of the round that are not pushed yet, after that one."""

    @property
    def theta(self) -> Tensor:
        return self._flat.theta

    @theta.setter
    def theta(self, theta: Tensor) -> None:
        for flat in self._flats:
            flat.move(theta)

    def gradient(self, position: int) -> Gradient:
        return self.threads[0].gradient_of(self.take(position))

    def differentiate(self, position: int) -> tuple[float, int]:
        taken = self.take(position)
        return self.threads[0].loss_of(taken), taken.examples

    def gather_into(self, out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None] | None) -> None:
        """Do nothing: each thread gathers its gradients in a vector of its own."""

    def push_alone(self, number: int, position: int, left: int) -> None:
        """Note that the gradient of this thread is pushed next, by itself. `position`: of its mini-batch. `left`: gradients that
        will be pushed after it, before others are computed."""
        self._pushing, self._left = number, left
        self._pass, self.passes_over = position // self.per_epoch, (position + 1) // self.per_epoch

    def _fetch(self, position: int) -> tuple[Any, int]:
        """Fetch one. One thread waits for it while the others compute."""
        before = self.data_seconds
        fetched = super()._fetch(position)
        self.data_seconds = before + (self.data_seconds - before) / len(self.threads)
        return fetched

    def keys_ahead(self, position: int, batches: int) -> Mapping[str, RowKeys] | None:
        if not self._pushes_gradients:
            return super().keys_ahead(position, batches)
        return None if self._left else super().keys_ahead(position, len(self.threads))

    def take_row_gradients(self) -> Mapping[str, RowGradients]:
        if not self._rows_of_threads:
            return {}
        if self._pushing is not None:
            return self._rows_of_threads[self._pushing].take_gradients()
        first, *others = self._rows_of_threads
        return first.take_gradients(others)

    def take_observations(self) -> Observations | None:
        for thread in self.threads:
            if observed := thread.take_observations():
                self._observed.add(observed)
        return super().take_observations()

    def buffers(self) -> Buffers | None:
        """Return the mean over the threads; integers, such as counts of mini-batches, are rounded down."""
        found = [buffers for flat in self._flats if (buffers := flat.buffers())]
        if not found:
            return None
        floats, ints = (torch.stack(list(vectors)) for vectors in zip(*found, strict=True))
        return Buffers(floats.mean(0), ints.sum(0) // len(found))

    def load_buffers(self, buffers: Buffers) -> None:
        for flat in self._flats:
            flat.load_buffers(buffers)

    def state(self) -> dict[str, Any]:
        for thread in self.threads:
            if observed := thread.take_observations():
                self._observed.add(observed)
        of_threads = [tuple(buffers) if (buffers := flat.buffers()) else None for flat in self._flats]
        return {**super().state(), "threads": of_threads}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        for flat, buffers in zip(self._flats, state.get("threads", ()), strict=False):
            if buffers:
                flat.load_buffers(Buffers(*buffers))

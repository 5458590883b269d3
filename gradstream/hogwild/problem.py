"""The problem of a hogwild worker: one source of mini-batches, and a model for each thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from gradstream.center.entries import Buffers
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.input.prefetch import Prefetched
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.observations.histograms import Observations
from gradstream.spec import JobSpec
from gradstream.train.problem import Gradient


class HogwildProblem(ModelProblem):
    """Takes mini-batches for all threads, one after another, and stands for the worker's model. Each thread computes with a problem
    of its own, one of `threads`, whose parameters are views of the same theta."""

    def __init__(
        self, code: UserCode, flats: Sequence[FlatModel], batches: Batches | Prefetched, spec: JobSpec, rows: object | None = None
    ) -> None:
        """`flats`: a model for each thread, of one theta. Raises: InvalidWorkload: threads cannot share this model or this data."""
        if rows is not None:
            raise InvalidWorkload(
                "roles.worker.hogwild: the model has embedding tables, whose rows one thread of a worker looks up; remove hogwild "
                "and raise roles.worker.count"
            )
        if batches.followed and spec.strategy.hogwild == "gradients":
            raise InvalidWorkload(
                f"roles.worker.hogwild: '{spec.strategy.name}' pushes the gradient of each thread by itself, and data that grows "
                "is counted as it is taken; remove hogwild, or choose a strategy with a window, such as adag"
            )
        super().__init__(code, flats[0], batches, spec.at_once)
        self._flats = list(flats)
        self.threads = [ModelProblem(code, flat, batches, spec.at_once) for flat in flats]
        self.on_core = self.threads[0].on_core

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

    def count_trained(self, position: int) -> None:
        """Note that the gradient of this mini-batch is pushed next, where some were taken before it."""
        self._pass, self.passes_over = position // self.per_epoch, (position + 1) // self.per_epoch

    def _fetch(self, position: int) -> tuple[Any, int]:
        """Fetch one. One thread waits for it while the others compute."""
        before = self.data_seconds
        fetched = super()._fetch(position)
        self.data_seconds = before + (self.data_seconds - before) / len(self.threads)
        return fetched

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

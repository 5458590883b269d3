"""What goes ahead of its header is taken back when a strategy pushes something else than the gradient that it was given."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from gradstream import sim
from gradstream.strategies.async_ import Async
from gradstream.strategies.base import ServerSide, WorkerSide
from tests.integration.plane.cluster import Cluster
from tests.nets import job, problem


class InPlace(Async, frozen=True):
    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        ps.push(w.grad().mul_(0.5))


class Another(Async, frozen=True):
    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        ps.push(0.5 * w.grad())


class Two(Async, frozen=True):
    """The sum of two gradients, the last of which is in the memory that travels."""

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        first = w.grad().clone()
        ps.push(first if w.done else first + w.grad())


class Last(Async, frozen=True):
    """The second of two gradients: that of the first has gone already."""

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        g = w.grad()
        ps.push(g if w.done else w.grad())


@pytest.mark.few(4)
@pytest.mark.parametrize("pipeline", [0, 1])
@pytest.mark.parametrize("strategy", [InPlace, Another, Two, Last])
def test_it_is_what_was_pushed_that_counts(strategy: type[Async], pipeline: int, cluster: Callable[..., Cluster]) -> None:
    spec = job("large", {"name": "async", "lr": 0.1}, shards=2, pipeline=pipeline).model_copy(update={"strategy": strategy(lr=0.1)})
    assert torch.equal(cluster(spec, problem).run(60), sim.run(spec, problem, align=4096).center)

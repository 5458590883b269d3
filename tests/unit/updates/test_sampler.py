"""Samples of a worker's pushes, with the staleness that the servers' ledger has, counted by hand."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
import torch
from msgspec.structs import replace
from torch import Tensor

from gradstream.center.entries import Entry, Payload, Push, Response
from gradstream.center.shard import Shard
from gradstream.codecs.coding import Residual
from gradstream.sim.toys import Quadratic, job
from gradstream.spec import JobSpec
from gradstream.training.link import Link
from gradstream.training.link_events import LinkEvents
from gradstream.training.replica import Replica
from gradstream.updates.sample import UpdateSample
from gradstream.updates.sampler import UpdateSampler
from tests import nets

SIZE = 5


class Together:
    """A shard and its workers in one thread: each entry is handled as it is sent."""

    def __init__(self, spec: JobSpec) -> None:
        self.shard, self.decisions = Shard(spec), list[Any]()
        self.inboxes = {rank: deque[Response]() for rank in range(spec.roles.worker.count)}
        self.workers = [Sampled(self, spec, rank) for rank in self.inboxes]
        self.workers[0].join(propose=True)
        for worker in self.workers[1:]:
            worker.join(propose=False)

    def handle(self, entry: Entry, payload: Payload | None) -> None:
        out = self.shard.handle(entry, payload)
        self.decisions += out.decisions
        for response in out.responses:
            payload = response.payload and response.payload._replace(x=response.payload.x.clone())
            self.inboxes[response.rank].append(replace(response, payload=payload))


class Sampled(LinkEvents):
    """One worker, its port, and the vectors that it pushed."""

    out: Tensor | None = None
    can_send_ahead = False

    def __init__(self, together: Together, spec: JobSpec, rank: int) -> None:
        self.centers: list[Tensor] = []
        self._together, self._rank, self._spec = together, rank, spec
        diagonal = torch.arange(1.0, SIZE + 1) * (rank + 1)
        self.problem = Quadratic(spec, rank, torch.ones(SIZE), diagonal, torch.zeros(SIZE))
        self.w = Replica(spec, self.problem)
        self.link = Link(spec, self, self.w, rank, 0, self)
        self.samples: list[UpdateSample] = []
        self.pushed_vectors: dict[int, Tensor] = {}
        self.gradients: list[Tensor] = []
        every = spec.update_histograms.every if spec.update_histograms else 1
        self.sampler = UpdateSampler(every, f"7.{rank}.0", self.w, self.samples.append)

    def join(self, *, propose: bool) -> None:
        self.link.join(Payload(self.problem.theta.clone()) if propose else None, None)

    def round(self) -> None:
        assert self.link.begin()
        self._spec.strategy.round(self.w, self.link)

    # ---- a port ------------------------------------------------------------------------------------------------------------

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        self._together.handle(entry, payload)

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        raise AssertionError

    def receive(self) -> Response:
        return self._together.inboxes[self._rank].popleft()

    def receive_within(self, seconds: float) -> Response | None:
        return self.receive() if self._together.inboxes[self._rank] else None

    # ---- events ------------------------------------------------------------------------------------------------------------

    def posting(self, push: Push, x: Tensor) -> None:
        self.pushed_vectors[push.seq] = x.clone()
        self.sampler.posting(push, x)

    def answered(self, response: Response) -> None:
        self.sampler.answered(response)


def asp(workers: int = 2, every: int = 1, gate: Any = "asp", **strategy: Any) -> JobSpec:
    given = {"name": "async", "lr": 0.01} | strategy
    return job(given, workers=workers, gate=gate, update_histograms={"every": every})


def take_rounds(together: Together, *ranks: int) -> None:
    for rank in ranks:
        together.workers[rank].round()
    for worker in together.workers:
        worker.link.wait_for_responses()


def test_staleness_is_that_of_the_ledger_counted_by_hand() -> None:
    together = Together(asp(workers=3))
    take_rounds(together, 0, 0, 1, 0, 2, 0, 0, 1)
    assert {worker._rank: [one.staleness for one in worker.samples] for worker in together.workers} == {
        0: [0, 0, 1, 1, 0],  # after 1 and 2 had pushed, its center was one version old
        1: [2, 4],
        2: [4],
    }
    for worker in together.workers:
        ledger = {one.seq: one.staleness for one in together.decisions if one.rank == worker._rank}
        assert {one.push: one.staleness for one in worker.samples} == ledger
        assert all(one.version - one.base == one.staleness + 1 for one in worker.samples)


def test_dropped_pushes_are_samples_with_their_staleness() -> None:
    together = Together(asp(gate={"mode": "asp", "max_staleness": 2}))
    take_rounds(together, 0, 0, 0, 1)
    [late] = together.workers[1].samples
    assert (late.staleness, late.outcome) == (3, "dropped")


def test_a_push_of_a_gradient_stands_for_both() -> None:
    together = Together(asp())
    take_rounds(together, 0, 0, 1)
    for worker in together.workers:
        for sample in worker.samples:
            x = worker.pushed_vectors[sample.push].double().abs().numpy()
            [layer] = sample.update
            assert (sample.gradient, sample.pushes_gradient) == (None, True)
            assert sample.layers("gradient") == sample.layers("update") == (layer,)
            assert sum(layer.counts) + layer.zeros == SIZE
            assert layer.norm == pytest.approx(float(np.linalg.norm(x)))


def test_of_a_window_the_gradient_is_that_of_the_first_mini_batch_and_the_update_is_the_push() -> None:
    together = Together(asp(name="adag", window=3))
    start = together.workers[1].problem.theta.clone()
    take_rounds(together, 1)
    [sample] = together.workers[1].samples
    [gradient], [update] = sample.layers("gradient"), sample.layers("update")
    assert gradient.norm == pytest.approx(float((start * torch.arange(1.0, SIZE + 1) * 2).norm()))
    assert update.norm == pytest.approx(float(together.workers[1].pushed_vectors[sample.push].norm()))
    assert gradient.norm != pytest.approx(update.norm)
    assert not sample.pushes_gradient


def test_one_push_of_each_block_is_measured_at_places_that_differ() -> None:
    together = Together(asp(workers=1, every=8))
    take_rounds(together, *[0] * 80)
    places = [sample.step - 1 for sample in together.workers[0].samples]
    assert [place // 8 for place in places] == list(range(10)), "one of each eight"
    assert len({place % 8 for place in places}) > 3


def test_a_job_that_samples_none_sends_no_staleness() -> None:
    together = Together(job({"name": "async", "lr": 0.01}, workers=1, gate="asp"))
    take_rounds(together, 0)
    [worker] = together.workers
    assert (worker.samples, worker.sampler.lost) == ([], 1)


@pytest.mark.parametrize("kind", ["plain", "mixed", "branch"])
def test_a_measured_step_has_the_bits_of_any_other(kind: str) -> None:
    spec = nets.job(kind, {"name": "adag", "lr": 0.1, "window": 4})
    plain, measured = (Replica(spec, nets.problem(spec, 0)) for _ in range(2))
    seen: list[Tensor] = []
    for _ in range(6):
        before = measured.theta.clone()
        measured.on_gradient = lambda g: seen.append(g.clone())
        plain.step()
        measured.step()
        assert torch.equal(plain.theta, measured.theta)
        assert torch.equal(measured.theta, before.add(seen[-1], alpha=-0.1)), "it is the gradient of this step"
    assert len(seen) == 6

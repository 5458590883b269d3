"""Buckets of gradients that go before the headers of their pushes: they change no bit, whatever becomes of the pushes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from gradstream import sim
from gradstream.errors import PlaneLost
from gradstream.process.order import Resume
from gradstream.serverless.collective import buckets
from gradstream.serverless.collective.buckets import BucketSums
from gradstream.serverless.collective.expected import ExpectedRound
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.training.problem import Gradient
from gradstream.training.replica import Replica
from gradstream.wire import plane
from tests import nets
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.test_collective import Uneven, run_with_a_checkpoint
from tests.support import TIMEOUT, eventually

SYNC = {"name": "sync", "lr": 0.02}
STEPS = 12


class Gathering(Uneven):
    """Its gradient is gathered from the end, as by backward, and leaves meanwhile."""

    STARTS: ClassVar = (15_000, 12_011, 6_000, 1, 0)
    _out: Tensor | None = None

    def gather_into(self, out: Tensor, wait_for_push: Callable[[], None], send_ahead: Callable[[int], None] | None) -> None:
        self._out, self._send_ahead = out, send_ahead

    def gradient(self, position: int) -> Gradient:
        found = self.changed(super().gradient(position), position)
        if self._out is None:
            return found
        self._send(-1)
        self.gather(self._out, found.g, position)
        return found._replace(g=self._out)

    def changed(self, found: Gradient, position: int) -> Gradient:
        return found

    def gather(self, out: Tensor, g: Tensor, position: int) -> None:
        for start in self.STARTS:
            out[start:] = g[start:]
            self._send(start)

    def _send(self, start: int) -> None:
        if self._send_ahead:
            self._send_ahead(start)


class OtherSizes(Gathering):
    """Every fifth mini-batch of worker 1 is smaller."""

    def changed(self, found: Gradient, position: int) -> Gradient:
        return found._replace(examples=found.examples - (position % 5 == 4 and found.examples % 2))


class NotFinite(Gathering):
    """Worker 1 has one gradient that overflows."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank)
        self._bad = rank == 1

    def changed(self, found: Gradient, position: int) -> Gradient:
        if self._bad and position == 6:
            found.g[7] = torch.inf
        return found


class EndsEarly(Gathering):
    """Worker 1 has fewer mini-batches than the others."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank)
        self.total -= 4 * (rank == 1)


class InPasses(Gathering):
    """Some of its gradient changes after it has gone, as where a part of a model has a backward of its own."""

    def gather(self, out: Tensor, g: Tensor, position: int) -> None:
        super().gather(out, g * 0.5, position)
        self._send(-1)
        out += 0.5 * g
        self._send(0)


class Whole(Uneven):
    """It gathers nothing, so all of its buckets go with the header."""


class Waiting(Gathering):
    """Worker 1 waits for its data several times."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank)
        self._looks = Counter[int]()
        self._waits = rank == 1

    def has_data(self, position: int) -> bool:
        self._looks[position] += 1
        return not self._waits or position % 5 != 4 or self._looks[position] > 2

    def begins_pass(self, position: int) -> bool:
        return False


CASES = {made.__name__: made for made in (Gathering, OtherSizes, NotFinite, EndsEarly, InPasses, Whole, Waiting)}


def spec_of(workers: int, steps: int = STEPS, **more: Any) -> JobSpec:
    return job(SYNC, workers=workers, shards=1, steps=steps, **{"on_nan": "drop", **more})


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small vector has several."""
    monkeypatch.setattr(buckets, "SMALLEST", 1 << 12)
    monkeypatch.setattr(buckets, "LARGEST", 1 << 14)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Buckets that all workers have sent: in all, and `early`, from a vector that was not whole yet."""
    found, send = Counter[str](), BucketSums.send

    def counted(sums: BucketSums, x: Tensor | None, weight: float, start: int = 0) -> None:
        before = len(sums._works)
        send(sums, x, weight, start)
        found["all"] += len(sums._works) - before
        found["early"] += (len(sums._works) - before) * (start > 0)

    monkeypatch.setattr(BucketSums, "send", counted)
    return found


def without_overlap(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Tensor]) -> Tensor:
    with monkeypatch.context() as patched:
        patched.setattr(ExpectedRound, "note_responses", lambda *given: None)  # so no worker is seen to begin
        return run()


@pytest.mark.few(4)
@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("case", CASES)
def test_overlap_changes_no_bit(
    case: str, workers: int, cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch, sent: Counter[str]
) -> None:
    spec, make = spec_of(workers), CASES[case]
    attempt = cluster(spec, make, gloo=True)
    found = attempt.run()
    assert bool(sent["early"]) == (make is not Whole)
    early = sent["early"]
    for rank in range(workers):
        assert torch.equal(attempt.ports[rank].shard.center.theta, found), "all workers hold the same bits"
    assert torch.equal(without_overlap(monkeypatch, cluster(spec, make, gloo=True).run), found)
    assert sent["early"] == early, "without overlap none goes early"
    torch.testing.assert_close(found, sim.run(spec, make, align=4096).center, rtol=1e-6, atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["large", "tied", "branch", "words", "normed", "mixed", "autocast", "compiled"])
def test_models_of_all_kinds(
    kind: str, cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch, sent: Counter[str]
) -> None:
    """`branch` has a layer that gets a gradient from some mini-batches only, and one that never gets any."""
    spec = nets.job(kind, workers=2, stop={"epochs": 3})
    attempt = cluster(spec, nets.problem, gloo=True)
    found = attempt.run()
    assert torch.equal(attempt.ports[1].shard.center.theta, found)
    if kind == "large":
        assert sent["early"]
    assert torch.equal(without_overlap(monkeypatch, cluster(spec, nets.problem, gloo=True).run), found)


def test_where_all_goes_as_expected_nothing_goes_twice(cluster: Callable[..., Cluster], sent: Counter[str]) -> None:
    attempt = cluster(spec_of(3), Gathering, gloo=True)
    attempt.run()
    of_a_round = 3 * len(attempt.ports[0]._vectors._sums._buckets)
    assert of_a_round >= 3 * 5
    assert sent["all"] == STEPS * of_a_round


def test_a_gradient_that_changes_after_it_has_gone_goes_early_no_more(cluster: Callable[..., Cluster], sent: Counter[str]) -> None:
    attempt = cluster(spec_of(3), InPasses, gloo=True)
    attempt.run()
    assert sent["all"] == (STEPS + 1) * 3 * len(attempt.ports[0]._vectors._sums._buckets), "one round goes twice"


@pytest.mark.few(1)
@pytest.mark.parametrize("accumulate", [1, 2])
def test_rounds_of_several_parts_and_a_checkpoint(
    accumulate: int, cluster: Callable[..., Cluster], tmp_path: Path, sent: Counter[str]
) -> None:
    """A resumed attempt does not expect the rounds that the first one expected."""
    spec = spec_of(3, steps=200, optimizer={"name": "adam"}, accumulate=accumulate)
    begun = cluster(spec, Gathering, gloo=True, folder=tmp_path)
    whole = run_with_a_checkpoint(begun)
    resume = Resume(attempt=1, checkpoint=1)
    again = cluster(spec, Gathering, number=2, gloo=True, folder=tmp_path, job=begun.job, resume=resume)
    assert torch.equal(again.run(), whole)
    assert sent["early"]


def test_workers_stop_together_while_they_send_ahead(cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(spec_of(3, steps=100_000), Gathering, gloo=True)

    def ask_them_to_stop(rank: int, w: Replica) -> None:
        if rank == 2 and w.t == 7:
            plane.control_stop(attempt.admin, attempt.j, "a test")

    attempt.before_round = ask_them_to_stop
    attempt.run()
    accounts = plane.ledger(attempt.admin, attempt.j)
    assert len({account.pushed for account in accounts.values()}) == 1, "all of them leave at one place"
    assert all(account.pushed == account.applied for account in accounts.values())


class Failing(Gathering):
    """The backward of worker 1 fails when some buckets have gone."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank)
        self._fails = rank == 1

    def gather(self, out: Tensor, g: Tensor, position: int) -> None:
        if self._fails and position == 6:
            for start in self.STARTS[:2]:
                self._send(start)
            raise ZeroDivisionError
        super().gather(out, g, position)


def test_an_error_in_the_midst_of_backward_ends_all_with_the_attempt(cluster: Callable[..., Cluster]) -> None:
    attempt = cluster(spec_of(3, steps=100_000), Failing, gloo=True)
    attempt.start()
    eventually(lambda: ZeroDivisionError in map(type, attempt.errors), "worker 1 fails")
    plane.destroy(attempt.admin, attempt.j)  # as the control plane ends an attempt whose worker has failed
    for thread in attempt.threads:
        thread.join(TIMEOUT)
        assert not thread.is_alive()
    ends = [type(error) for error in attempt.errors]
    assert sorted(ends, key=str) == sorted([ZeroDivisionError, PlaneLost, PlaneLost], key=str)

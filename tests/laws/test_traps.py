"""What implementations that people refer to do wrong, as rules of their own: each must break the law that is there for it.

Sources: dist-keras (DOWNPOUR, EAMSGD, AveragingTrainer, ADAG), Paddle (GEO), Flower's docstring (FedProx), MXNet (DC-ASGD: see
test_staleness)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from gradstream.center.entries import Buffers, Push
from gradstream.center.ledger import PushOutcome
from gradstream.center.parameters.buffers import CenterBuffers
from gradstream.center.pushes import Pushes
from gradstream.spec import JobSpec
from gradstream.strategies.adag import Adag
from gradstream.strategies.async_ import Async
from gradstream.strategies.base import ServerSide, ShardSide, Strategy, Updates, WorkerSide
from gradstream.strategies.downpour import Downpour
from gradstream.strategies.eamsgd import Eamsgd
from gradstream.strategies.easgd import Easgd
from gradstream.strategies.fedprox import FedProx
from gradstream.strategies.geo import Geo
from gradstream.strategies.local_sgd import LocalSgd
from tests.laws import test_averaging, test_elastic, test_staleness, test_windows
from tests.laws.driver import Driver, Make, Run
from tests.unit.strategies import test_contract

pytestmark = pytest.mark.simulator


@dataclass
class Wrongly:
    """Runs this rule wherever a law runs the right one."""

    driver: Driver
    rule: type[Strategy]
    name: str = "wrong"

    def run(self, spec: JobSpec, problem: Make, **how: Any) -> Run:
        if spec.strategy.name == self.rule.model_fields["name"].default:
            wrong = self.rule.model_construct(**{key: getattr(spec.strategy, key) for key in type(spec.strategy).model_fields})
            spec = spec.model_copy(update={"strategy": wrong})
        return self.driver.run(spec, problem, **how)


class PushesBeforeItTrains(Downpour, frozen=True):
    """Commits at each n-th mini-batch before training it: zeros at first, and the last batches never."""

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        accrued = w.slot("accrued")
        if w.t % self.n_push == 0:
            ps.push(accrued)
            accrued.zero_()
        if w.t % self.n_fetch == 0:
            ps.pull(w.theta)
        if not w.done:
            g = w.grad()
            accrued += g
            w.theta.sub_(g, alpha=w.lr)
        if w.done:
            ps.push(accrued * 0)


class LosesThePartialWindow(Adag, frozen=True):
    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        base = w.theta.clone()
        made = w.local(self.window)
        ps.push((base - w.theta) / made * (made == self.window))


class DividesByTheNominalWindow(Adag, frozen=True):
    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        base = w.theta.clone()
        w.local(self.window)
        ps.push((base - w.theta) / self.window)


class LooksBehind(Eamsgd, frozen=True):
    """The look-ahead with the wrong sign."""

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        e, v = ps.exchange(w.theta, w.slot("e")), w.slot("v")
        for k in w.window(self.window):
            g = w.grad(at=w.theta - self.delta * v)
            v.mul_(self.delta).sub_(g, alpha=w.lr)
            w.theta.add_(v)
            if k == 1:
                w.theta.sub_(e)


class NeverEmptiesItsSum(LocalSgd, frozen=True):
    def apply(self, s: ShardSide, us: Updates) -> None:
        s.descend(s.slot("sum").add_(us.mean()).clone())


class OneAfterTheOther(Easgd, frozen=True):
    """In a round of all, each against the center that the one before has moved."""

    def apply(self, s: ShardSide, us: Updates) -> None:
        for u in us:
            u.response = 0.2 * (u.x - s.theta)
            s.add(u.response)


class GivesMoreThanItTakes(Easgd, frozen=True):
    """A codec's effect if only responses went through it."""

    def apply(self, s: ShardSide, us: Updates) -> None:
        for u in us:
            e = 0.2 * (u.x - s.theta)
            s.add(e)
            u.response = e.float().double()


class NeverFlushes(Geo, frozen=True):
    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        old = w.slot("old", w.theta)
        w.local(self.window)
        d = (w.theta - old) / w.n
        old.add_(d)
        center = ps.wait(ps.post(-d, w.slot("center")))
        w.theta.add_(center - old)
        old.copy_(center)


class OverwritesWhatWasTrained(Geo, frozen=True):
    """The merge brings the worker to the center, whatever it did in the meantime."""

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        old = w.slot("old", w.theta)
        last = w.left <= self.window
        w.local(self.window if last else self.window - self.delay)
        d = (w.theta - old) / (1 if last else w.n)
        kept = w.theta - old - d
        merge = ps.post(-d, w.slot("center"))
        w.local(0 if last else self.delay)
        center = ps.wait(merge)
        w.theta.copy_(center + kept)
        old.copy_(center)


class PullsByTheNorm(FedProx, frozen=True):
    """The gradient of mu |x - c| instead of that of mu/2 |x - c|^2."""

    def round(self, w: WorkerSide, ps: ServerSide) -> None:
        ps.pull(w.theta)
        base = w.theta.clone()
        for _ in w.window(self.epochs * w.epoch):
            apart = w.theta - base
            w.descend(w.grad() + self.mu * apart / (apart.norm() + 1e-12))
        ps.push(base - w.theta)


class StepsTwice(Async, frozen=True):
    """As when a retry is applied again: counters of Adam run at double speed."""

    def apply(self, s: ShardSide, us: Updates) -> None:
        for u in us:
            s.descend(u.x / 2)
            s.descend(u.x / 2)


DOWNPOUR, WINDOW, GEO = test_windows.TestDownpour(), test_windows.TestAdag(), test_windows.TestGeo()
EXCHANGE, MEAN, FEDERATED = test_elastic.TestExchange(), test_averaging.TestLocalSgd(), test_averaging.TestFederated()
TRAPS: list[tuple[type[Strategy], Callable[..., None], tuple[Any, ...]]] = [
    (PushesBeforeItTrains, DOWNPOUR.test_what_was_accrued_is_the_sum_of_all_gradients_since_the_last_push, (3, 2)),
    (LosesThePartialWindow, WINDOW.test_the_partial_last_window_is_sent_and_divided_by_its_own_length, ()),
    (DividesByTheNominalWindow, WINDOW.test_the_partial_last_window_is_sent_and_divided_by_its_own_length, ()),
    (LooksBehind, test_elastic.test_eamsgd_looks_ahead_along_its_velocity, (0.9,)),
    (NeverEmptiesItsSum, MEAN.test_a_mean_is_of_this_round_only, ()),
    (OneAfterTheOther, EXCHANGE.test_moves_the_center_by_alpha_times_all_distances_from_where_it_was, ("easgd", "bsp")),
    (GivesMoreThanItTakes, EXCHANGE.test_conserves_worker_plus_center_to_one_ulp, ("easgd", "asp")),
    (NeverFlushes, GEO.test_nothing_is_lost_on_the_way, (4, 0, 10, "bsp")),
    (OverwritesWhatWasTrained, GEO.test_nothing_is_lost_on_the_way, (4, 3, 10, "bsp")),
    (PullsByTheNorm, FEDERATED.test_fedprox_with_a_strong_pull_stays_at_the_center, ()),
    (StepsTwice, test_staleness.TestServerOptimizer().test_makes_one_step_for_each_push_that_counts, ({"name": "adam"},)),
]
"""The rule, the law that it breaks, and the case of that law."""


@pytest.mark.parametrize(("rule", "law", "case"), TRAPS, ids=[rule.__name__ for rule, _, _ in TRAPS])
def test_a_wrong_rule_breaks_its_law(
    rule: type[Strategy], law: Callable[..., None], case: tuple[Any, ...], simulator: Driver
) -> None:
    law(*case, simulator)
    with pytest.raises(AssertionError):
        law(*case, Wrongly(simulator, rule))


def test_a_drop_that_advances_the_version_starves_everybody(simulator: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 4 workers and a bound of 2, two pushes are applied, and then no more."""
    right = Pushes._decide

    def wrong(pushes: Pushes, push: Push, outcome: PushOutcome, *how: Any, **told: Any) -> None:
        right(pushes, push, outcome, *how, **told)
        pushes._responses.there().version += outcome == "dropped"

    monkeypatch.setattr(Pushes, "_decide", wrong)
    run = simulator.run(test_staleness.gradients(4, 10, {"max_staleness": 2}))
    assert sum(decision.outcome == "applied" for decision in run.decisions) == 2
    with pytest.raises(AssertionError):
        test_staleness.TestRingmaster().test_what_is_dropped_does_not_advance_the_version(2, simulator)


def test_running_statistics_that_are_added_up_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def added(buffers: CenterBuffers) -> Buffers:
        parts = [last for _, last in buffers._last.values()]
        return Buffers(sum(part.floats for part in parts), parts[0].ints)  # type: ignore[arg-type]

    test_contract.test_batch_norm_is_the_mean_of_the_workers_weighted_by_examples("sync")
    monkeypatch.setattr(CenterBuffers, "value", lambda buffers: added(buffers) if buffers._last else buffers._initial)
    with pytest.raises(AssertionError):
        test_contract.test_batch_norm_is_the_mean_of_the_workers_weighted_by_examples("sync")

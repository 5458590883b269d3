"""Observations of workers in a simulated job: the same with any number of shards, repeats and checkpoints."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gradstream.observations.figures import figures
from gradstream.observations.histograms import Observations
from gradstream.observations.sliding import SlidingObservations
from gradstream.sim import Result
from tests.unit.sim.test_tables import job, train

OBSERVES = {"args": {"observes": True}}


def sums(result: Result) -> Observations:
    """All that counted; fewer than a window."""
    whole, (_, blocks) = Observations(), result.shards[0]["observed"]["counted"]
    for block in blocks:
        whole.add(Observations.unpack(block))
    return whole


@pytest.mark.more
@pytest.mark.parametrize("strategy", ["sync", "async", "local_sgd", "easgd", "geo", "adag"])
def test_the_same_with_any_shards_and_repeats(strategy: str) -> None:
    spec = job(strategy, **OBSERVES)
    one = train(spec)
    assert sums(one).examples == 2000
    assert sums(train(spec, duplicates=0.3)).pack() == sums(one).pack()
    three = train(job(strategy, shards=3, **OBSERVES))
    assert sums(three).pack() == sums(one).pack()
    assert all("observed" not in state for state in three.shards[1:])


def test_it_changes_no_bit_of_the_training() -> None:
    assert torch.equal(train(job("async", **OBSERVES)).center, train(job("async")).center)


def test_workers_together_observe_what_one_would() -> None:
    """Under bsp, with a third of the mini-batch each. The order of sums differs, and so do some last bits of logits."""
    three = sums(train(job("sync", workers=3, batch_size=20, stop={"steps": 20}, **OBSERVES)))
    assert three.examples == 3 * 20 * 20
    assert three.positives.sum() + three.negatives.sum() == three.examples


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", ["sync", "async", "local_sgd"])
def test_a_resumed_job_continues_them(strategy: str) -> None:
    spec = job(strategy, **OBSERVES)
    whole = train(spec, checkpoints={2})
    resumed = train(spec, resume=whole.checkpoints[2])
    assert sums(resumed).pack() == sums(whole).pack()


def test_examples_of_unfinished_windows_count_once_after_a_resume() -> None:
    spec = job("easgd", **OBSERVES)
    checkpoint = train(spec, checkpoints={2}).checkpoints[2]
    assert sums(train(spec, resume=checkpoint)).examples == 2000


def test_views_have_the_figures() -> None:
    seen: list[dict[str, float]] = []
    result = train(job("async", **OBSERVES), watch=lambda view: seen.append(view.figures()), watch_every=500)
    assert len(seen) >= 4
    assert seen[-1] == figures(sums(result))
    assert seen[-1]["auc"] > 0.5
    assert train(job("async")).shards[0].get("observed") is None
    assert SlidingObservations().figures() == {}


def test_a_wrong_observation_names_observe(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.userland.planted_clicks import Clicks

    def wrong(self: Clicks, model: Any, batch: Any) -> Any:
        logits = model(batch[0])
        self.observe(logits, batch[1] * 2)
        return logits.mean()

    from gradstream.process.exits import UserError, explain_user_error
    from gradstream.sim import run
    from gradstream.sim.workload import Workloads
    from tests.unit.sim.test_tables import FOLDER

    spec = job("async")
    workloads = Workloads(spec, FOLDER)
    monkeypatch.setattr(type(workloads._code._workload), "loss", wrong)
    with pytest.raises(UserError) as raised:
        run(spec, workloads)
    assert "observe: the labels hold a value outside of 0 to 1" in explain_user_error(raised.value)


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", ["sync", "async", "local_sgd"])
def test_each_epoch_has_figures_of_its_own_and_they_add_up(strategy: str) -> None:
    result = train(job(strategy, stop={"epochs": 3}, **OBSERVES))
    assert [number for number, _ in result.passes] == [0, 1, 2]
    assert result.passes[0].figures["auc"] < result.passes[2].figures["auc"], "it has learned"
    whole = figures(sums(result))
    if strategy != "local_sgd":  # whose windows may span two epochs
        mean = sum(found["log_loss"] for _, found in result.passes) / 3
        assert mean == pytest.approx(whole["log_loss"], rel=1e-9)
    three = train(job(strategy, shards=3, stop={"epochs": 3}, **OBSERVES))
    assert three.passes == result.passes


@pytest.mark.more
@pytest.mark.parametrize("strategy", ["sync", "async"])
def test_passes_of_a_resumed_job_are_those_of_an_undisturbed_one(strategy: str) -> None:
    spec = job(strategy, stop={"epochs": 2}, **OBSERVES)
    whole = train(spec, checkpoints={2})
    assert train(spec, resume=whole.checkpoints[2]).passes == whole.passes

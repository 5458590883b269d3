"""Online learning: what jobs learn from a log of clicks, against a learner of plain numpy that shares no code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradstream.sim import Result, run
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from tests.unit.sim.test_tables import FOLDER
from tests.userland.drifting_clicks import ClickPasses

EXAMPLES, BATCH, PASSES = 2000, 64, 16
ALPHA, L2 = 0.1, 1.0
RULE = {"rule": {"name": "ftrl", "alpha": ALPHA, "beta": 1, "l2": L2}, "gradient": "sum"}
DRIFT = {"turn": PASSES, "replaced": PASSES / 2}


def learn(args: dict[str, Any], strategy: str = "sync", workers: int = 1, passes: int = PASSES, **table: Any) -> Result:
    """Train a job. Each of several workers has its share of the examples, in mini-batches as large as those of one."""
    spec = JobSpec.model_validate(
        {
            "name": "drifting",
            "workload": {"entrypoint": "drifting_clicks:DriftingClicks", "args": {"examples": EXAMPLES} | args},
            "strategy": {"name": strategy},
            "roles": {"worker": {"count": workers}, "server": {"count": 2}},
            "batch_size": BATCH,
            "stop": {"epochs": passes},
            "tables": {"wide": RULE | table},
        }
    )
    return run(spec, Workloads(spec, FOLDER))


@pytest.fixture(scope="module")
def calm() -> Result:
    return learn({})


@pytest.fixture(scope="module")
def drifting() -> Result:
    return learn(DRIFT)


def aucs(result: Result) -> NDArray[np.float64]:
    """AUC of each pass, tested before it was learned."""
    return np.array([closed.figures["auc"] for closed in result.passes])


def count_rows(result: Result) -> int:
    return sum(len(table["columns"]["keys"]) for shard in result.shards for table in shard["center"]["tables"]["tables"].values())


class PlainFtrl:
    """Gradients are summed over a mini-batch. Source: McMahan et al. 2013, "Ad Click Prediction: a View from the Trenches"."""

    def __init__(self, args: dict[str, Any]) -> None:
        self.log = ClickPasses(EXAMPLES, **args)
        self.z, self.n = (np.zeros(self.log.weights.shape[1]) for _ in range(2))

    def weights(self) -> NDArray[np.float64]:
        return np.asarray(-self.z / ((1 + np.sqrt(self.n)) / ALPHA + L2))

    def test_then_train(self, number: int, learns: bool = True) -> float:
        """Return the AUC of pass `number`."""
        self.log.set_epoch(number)
        ids, _, clicked = self.log.read()
        logits = []
        for start in range(0, len(ids), BATCH):
            of, w = ids[start : start + BATCH], self.weights()
            logits.append(w[of].sum(1))
            if learns:
                errors = 1 / (1 + np.exp(-logits[-1])) - clicked[start : start + BATCH]
                g = np.bincount(of.ravel(), np.repeat(errors, of.shape[1]), len(w))
                self.z += g - (np.sqrt(self.n + g * g) - np.sqrt(self.n)) / ALPHA * w
                self.n += g * g
        return auc(np.concatenate(logits), clicked)


def auc(scores: NDArray[np.float64], clicked: NDArray[np.bool_]) -> float:
    """The share of pairs in order; ties count half."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    hits = clicked.sum()
    return float((ranks[clicked].sum() - hits * (hits + 1) / 2) / (hits * (~clicked).sum()))


def best(args: dict[str, Any], numbers: range) -> float:
    """The mean AUC of the true probabilities."""
    log, found = ClickPasses(EXAMPLES, **args), []
    for number in numbers:
        log.set_epoch(number)
        _, p, clicked = log.read()
        found.append(auc(p, clicked))
    return float(np.mean(found))


@pytest.mark.more
def test_each_pass_has_the_auc_of_a_plain_learner(calm: Result, drifting: Result) -> None:
    for result, args in ((calm, {}), (drifting, DRIFT)):
        plain = PlainFtrl(args)
        assert aucs(result) == pytest.approx([plain.test_then_train(number) for number in range(PASSES)], abs=2e-4)


@pytest.mark.more
def test_four_asynchronous_workers_learn_what_one_does(calm: Result) -> None:
    four = aucs(learn({}, "async", workers=4))
    assert four[PASSES // 2 :].mean() == pytest.approx(aucs(calm)[PASSES // 2 :].mean(), abs=0.005)


@pytest.mark.more
def test_drift_is_followed(drifting: Result) -> None:
    """A learner that stops halfway knows few of the last ids."""
    late, stops = range(PASSES - 4, PASSES), PlainFtrl(DRIFT)
    stopped = np.mean([stops.test_then_train(number, learns=number < PASSES // 2) for number in range(PASSES)][-4:])
    found = aucs(drifting)[-4:].mean()
    assert found > stopped + 0.1
    assert found > 0.5 + 0.75 * (best(DRIFT, late) - 0.5)


@pytest.mark.more
def test_a_table_that_always_shrinks_stays_small_and_learns_as_well(drifting: Result) -> None:
    shrinks = {"keep": {"unseen": 4}, "shrink": "1 passes"}
    kept, half = learn(DRIFT, **shrinks), learn(DRIFT, passes=PASSES // 2, **shrinks)
    assert aucs(kept)[-4:].mean() == pytest.approx(aucs(drifting)[-4:].mean(), abs=0.002)
    assert count_rows(kept) < 1.1 * count_rows(half)
    assert count_rows(drifting) > 2 * count_rows(kept)

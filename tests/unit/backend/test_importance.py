"""Importance of settings: one that alone makes a figure, two that matter only together, and noise, of which nothing is claimed."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from backend.compare import importance
from backend.compare.importance import differing, explain, needed_r2
from gradstream.api.charts import SettingImportance

Figure = Callable[[dict[str, Any]], float]


def sweep(count: int, figure: Figure, seed: int = 0) -> tuple[list[dict[str, Any]], list[float]]:
    """Runs with random settings, and their figures."""
    chance = random.Random(seed)
    runs = [
        {
            "strategy.lr": 10 ** chance.uniform(-4, -1),
            "batch_size": chance.choice([16, 32, 64]),
            "strategy.name": chance.choice(["async", "sync", "adag"]),
            "compile": chance.random() < 0.5,
            "seed": chance.randrange(1 << 40),
        }
        for _ in range(count)
    ]
    return runs, [figure(run) for run in runs]


def ranked(runs: list[dict[str, Any]], figures: list[float]) -> dict[str, SettingImportance]:
    return {path: each for each in explain(differing(runs), figures).settings for path in each.settings}


def test_a_setting_that_alone_makes_the_figure_is_all_of_it() -> None:
    runs, figures = sweep(30, lambda run: -math.log(run["strategy.lr"]))
    explained = explain(differing(runs), figures)
    first, *others = explained.settings
    assert explained.r2 > 0.9 > needed_r2(30)
    assert (first.settings, first.stands_out, first.correlation) == (["strategy.lr"], True, pytest.approx(-1))
    assert first.importance > 1.5, "shuffled figures are twice as far from the truth as their variance: R² falls from 1 to -1"
    assert not any(each.stands_out for each in others)
    assert max(each.importance for each in others) < 0.02


def test_a_word_alone_comes_with_the_mean_of_each_of_its_values() -> None:
    means = {"async": 3.0, "sync": 1.0, "adag": 2.0}
    runs, figures = sweep(24, lambda run: means[run["strategy.name"]])
    first = explain(differing(runs), figures).settings[0]
    assert (first.settings, first.correlation) == (["strategy.name"], None)
    assert [(level.value, level.mean) for level in first.levels] == [("sync", 1.0), ("adag", 2.0), ("async", 3.0)]
    assert sum(level.runs for level in first.levels) == 24


def test_two_settings_that_matter_only_together_are_both_found() -> None:
    """The mean of the figure is the same for each value of either, so that no correlation shows them."""
    settings = [{"a": a, "b": b, "c": c} for a, b, c in itertools.product([0, 1], [0, 1], [0, 1, 2])] * 4
    found = ranked(settings, [float(run["a"] != run["b"]) for run in settings])
    assert found["a"].stands_out
    assert found["b"].stands_out
    assert not found["c"].stands_out
    assert [found[name].correlation for name in "ab"] == pytest.approx([0, 0])
    assert min(found["a"].importance, found["b"].importance) > 10 * abs(found["c"].importance)


@pytest.mark.more
@pytest.mark.parametrize("count", [8, 12, 30])
def test_nothing_is_claimed_of_noise(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 1 of 20 comparisons: as often as chance may be believed."""
    monkeypatch.setattr(importance, "SHUFFLES", 1)  # R² needs none
    believed = 0
    for seed in range(20):
        chance = random.Random(1000 + seed)
        runs, figures = sweep(count, lambda _, chance=chance: chance.gauss(0, 1), seed)  # type: ignore[misc]
        believed += explain(differing(runs), figures).r2 >= needed_r2(count)
    assert believed <= 1


def test_seven_runs_are_too_few_for_a_setting_of_two_values() -> None:
    """Counted over all orders of the figures: how many separate the two values as well as possible."""

    def chance(runs: int) -> float:
        half = runs // 2
        best = [set(range(half)), set(range(half, runs)), set(range(runs - half, runs)), set(range(runs - half))]
        splits = [set(split) for split in itertools.combinations(range(runs), half)]
        return sum(split in best for split in splits) / len(splits)

    assert chance(importance.FEWEST_RUNS - 1) > 1 / 20 > chance(importance.FEWEST_RUNS)


def test_the_importance_is_what_an_independent_computation_finds() -> None:
    """Single trees on bootstrap samples of one's own, one shuffle at a time: the same importances within their spread."""
    from sklearn.tree import DecisionTreeRegressor

    runs, figures = sweep(40, lambda run: 2 * run["compile"] + run["batch_size"] / 32)
    found, y, chance = ranked(runs, figures), np.asarray(figures), np.random.default_rng(7)
    x = np.array([[run["compile"], run["batch_size"], run["strategy.lr"], run["seed"]] for run in runs], np.float64)
    sums, counts = np.zeros((3, 40)), np.zeros(40)
    orders = [chance.permutation(40) for _ in range(2)]
    for _ in range(300):
        drawn = chance.integers(0, 40, 40)
        unseen = np.setdiff1d(np.arange(40), drawn)
        tree = DecisionTreeRegressor(random_state=int(chance.integers(1 << 30))).fit(x[drawn], y[drawn])
        counts[unseen] += 1
        sums[0, unseen] += tree.predict(x[unseen])
        for column, order in enumerate(orders):
            shuffled = x.copy()
            shuffled[:, column] = x[order, column]
            sums[1 + column, unseen] += tree.predict(shuffled[unseen])
    r2 = 1 - ((sums / counts - y) ** 2).mean(axis=1) / y.var()
    assert explain(differing(runs), figures).r2 == pytest.approx(r2[0], abs=0.05)
    for name, value in zip(("compile", "batch_size"), r2[0] - r2[1:], strict=True):
        assert found[name].importance == pytest.approx(value, abs=3 * found[name].spread)


def test_settings_that_always_change_together_are_one() -> None:
    runs = [
        {"strategy.name": name, "gate.mode": gate, "k": k} for name, gate in (("async", "asp"), ("sync", "bsp")) for k in range(5)
    ]
    assert [each.paths for each in differing(runs)] == [["strategy.name", "gate.mode"], ["k"]]


def test_numbers_of_random_sweeps_are_one_only_in_the_same_order() -> None:
    runs = [{"lr": value, "twice": 2 * value, "less": -value, "other": value % 0.3} for value in (0.1, 0.25, 0.32, 0.47, 0.71)]
    assert [each.paths for each in differing(runs)] == [["lr", "twice", "less"], ["other"]]


def test_constant_settings_are_left_out_and_missing_lists_and_mixed_ones_are_values() -> None:
    runs = [
        {"same": 1, "missing": 2, "betas": [0.9, 0.99], "count": 2, "flag": True},
        {"same": 1.0, "betas": [0.9, 0.999], "count": "auto", "flag": False},
        {"same": 1, "missing": None, "betas": [0.9, 0.99], "count": "auto", "flag": True},
    ]
    found = {each.paths[0]: each for each in differing(runs)}
    assert list(found) == ["missing", "betas"], "count differs as missing does, and flag as betas do"
    assert [each.paths for each in found.values()] == [["missing", "count"], ["betas", "flag"]]
    assert found["missing"].numbers == pytest.approx([2, math.nan, math.nan], nan_ok=True)
    assert (found["betas"].numbers, found["betas"].texts[1]) == (None, "[0.9, 0.999]")


def test_a_missing_number_can_be_what_makes_the_figure() -> None:
    runs: list[dict[str, Any]] = [{"bound": value, "x": number % 5} for number, value in enumerate([None, 1, 2, 3] * 6)]
    found = ranked(runs, [float(run["bound"] is None) for run in runs])
    assert found["bound"].stands_out
    assert not found["x"].stands_out


def test_the_same_runs_get_the_same_result() -> None:
    runs, figures = sweep(20, lambda run: run["batch_size"])
    assert explain(differing(runs), figures) == explain(differing(runs), figures)

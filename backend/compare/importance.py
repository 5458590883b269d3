"""Importance of settings: which of them explain a figure of the compared runs. No database here.

A random forest learns the figure from the settings. Out of bag means that each run is predicted only by trees that did not learn
from it. The importance of a setting is what the out-of-bag R² loses while its values are shuffled between the runs."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from backend.metrics.store.points import Array
from gradstream.api.charts import SettingImportance, SettingLevel

FEWEST_RUNS = 8
"""With fewer, more than 1 of 20 random orders of a figure fit a setting of two values as well as possible: 2 of 35 for 7 runs."""
MOST_SETTINGS = 60
MOST_LEVELS = 8
"""Values of a setting whose means are listed."""
TREES, SHUFFLES, SEED = 100, 10, 0
STRENGTH, LEAST = 2.0, 0.05
"""A setting stands out if its importance is greater than so many standard deviations of the shuffles, and than this R²."""

Runs = Sequence[Mapping[str, Any]]
"""The settings of each run by their paths."""


class Explained(NamedTuple):
    r2: float
    """Out of bag: the part of the figure's variance that the settings predict. Below 0: worse than the mean of all runs."""
    settings: list[SettingImportance]
    """The most important first."""


class Setting(NamedTuple):
    paths: list[str]
    """Several: they differ between the same runs, so that no forest can tell them apart."""
    numbers: list[float] | None
    """One of each run, NaN where it is missing; None: one of the values is something else."""
    texts: list[str]
    """One of each run, as the page shows it."""


def needed_r2(runs: int) -> float:
    """The least R² that is believed. Figures of noise alone reached it in fewer than 1 of 20 simulated comparisons."""
    return max(0.2, 1.5 / math.sqrt(runs))


def differing(runs: Runs) -> list[Setting]:
    """The settings that differ between the runs. Those that always change together are one."""
    found: dict[tuple[object, ...], Setting] = {}
    for path in dict.fromkeys(path for run in runs for path in run):
        values = [run.get(path) for run in runs]
        numbers, texts = _numbers(values), [_text(value) for value in values]
        if len(set(values if numbers else texts)) > 1:
            found.setdefault(_split(numbers, texts), Setting([], numbers, texts)).paths.append(path)
    return list(found.values())


def _split(numbers: list[float] | None, texts: list[str]) -> tuple[object, ...]:
    """Equal for two settings that differ between the same runs; if every run has a number of its own, for two of one order."""
    keys: Sequence[object] = texts if numbers is None else [None if math.isnan(number) else number for number in numbers]
    if numbers is not None and len(set(keys)) == len(keys):
        ranks = _ranks(numbers)
        ways = (np.nan_to_num(way, nan=-1).tolist() for way in (ranks, np.nanmax(ranks) - ranks))
        return "order", *min(ways)
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    return tuple(first[key] for key in keys)


def _ranks(numbers: Sequence[float]) -> Array:
    """Places of the numbers in their order, equal for equal ones: 0 for the least; NaN stays."""
    values = np.asarray(numbers, np.float64)
    ranks = np.full(len(values), np.nan)
    known = ~np.isnan(values)
    ranks[known] = np.unique(values[known], return_inverse=True)[1]
    return ranks


def _text(value: Any) -> str:
    return "–" if value is None else value if isinstance(value, str) else json.dumps(value)


def _numbers(values: Sequence[Any]) -> list[float] | None:
    if any(isinstance(value, bool) or not isinstance(value, int | float | None) for value in values):
        return None
    return [math.nan if value is None else float(value) for value in values]


def explain(settings: Sequence[Setting], figure: Sequence[float]) -> Explained:
    """Learn the figure of each run from its settings. The same runs get the same result.

    scikit-learn is imported here: it takes seconds, which no other request should wait for."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.inspection import permutation_importance
    from sklearn.metrics import r2_score

    columns, owners = _columns(settings)
    y = np.asarray(figure, np.float64)
    forest = RandomForestRegressor(TREES, bootstrap=True, random_state=SEED, n_jobs=1).fit(columns, y)
    members = [np.bincount(drawn, minlength=len(y)) == 0 for drawn in forest.estimators_samples_]

    def out_of_bag(_: object, order: Array, y: Array) -> float:
        """R² of the runs, where setting i of run r has the value that it has in run `order[r, i]`."""
        shuffled = columns[order[:, owners], np.arange(len(owners))]
        sums, counts = np.zeros(len(y)), np.zeros(len(y))
        for tree, unseen in zip(forest.estimators_, members, strict=True):
            sums[unseen] += tree.predict(shuffled[unseen], check_input=False) if unseen.any() else 0.0
            counts += unseen
        seen = counts > 0
        return float(r2_score(y[seen], sums[seen] / counts[seen]))

    order = np.repeat(np.arange(len(y))[:, None], len(settings), axis=1)
    lost = permutation_importance(forest, order, y, scoring=out_of_bag, n_repeats=SHUFFLES, random_state=SEED, n_jobs=1)
    noise = max(0.0, -float(lost.importances_mean.min()))
    ranked = [
        _importance(setting, y, float(mean), float(spread), noise)
        for setting, mean, spread in zip(settings, lost.importances_mean, lost.importances_std, strict=True)
    ]
    return Explained(out_of_bag(forest, order, y), sorted(ranked, key=lambda each: -each.importance))


def _columns(settings: Sequence[Setting]) -> tuple[Array, Array]:
    """The runs as rows of numbers, and the setting to which each column belongs. A number counts by its place in the order, so that
    its scale does not matter. A setting that is not a number has a column for each of its values."""
    columns, owners = [], []
    for place, setting in enumerate(settings):
        texts = np.asarray(setting.texts)
        mine = [texts == text for text in np.unique(texts)] if setting.numbers is None else [_ranks(setting.numbers)]
        columns += mine
        owners += [place] * len(mine)
    return np.stack(columns, axis=1).astype(np.float32), np.asarray(owners)


def _importance(setting: Setting, y: Array, mean: float, spread: float, noise: float) -> SettingImportance:
    return SettingImportance(
        settings=setting.paths,
        importance=mean,
        spread=spread,
        stands_out=mean > max(noise, STRENGTH * spread, LEAST),
        correlation=None if setting.numbers is None else _rank_correlation(np.asarray(setting.numbers), y),
        levels=_levels(setting.texts, y) if setting.numbers is None else [],
    )


def _rank_correlation(values: Array, y: Array) -> float | None:
    from scipy.stats import spearmanr  # scikit-learn needs it, too

    known = np.isfinite(values)
    if len(set(values[known])) < 2 or len(set(y[known])) < 2:
        return None
    return float(spearmanr(values[known], y[known]).statistic)


def _levels(texts: Sequence[str], y: Array) -> list[SettingLevel]:
    """The values with the most runs, the lowest mean first."""
    figures = defaultdict[str, list[float]](list)
    for text, figure in zip(texts, y.tolist(), strict=True):
        figures[text].append(figure)
    frequent = sorted(figures.items(), key=lambda item: -len(item[1]))[:MOST_LEVELS]
    levels = [SettingLevel(value=text, runs=len(each), mean=math.fsum(each) / len(each)) for text, each in frequent]
    return sorted(levels, key=lambda level: level.mean)

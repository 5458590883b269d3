"""Learning rates: one search for all strategies, by the same rule, at n = 4."""

from __future__ import annotations

from typing import Any

from benchmarks.report.experiments.base import Experiment, Finding, Scale, Table, percent, training
from benchmarks.report.lab import Lab, Run
from gradstream.strategies import STRATEGIES

AT = 4
"""Workers of the search."""

ADAMW = {"optimizer": {"name": "adamw"}}
TOLERANCE = 0.01
"""The best rate of a short run with few workers is often the last before it diverges: one that is at most this much less accurate
leaves a margin for more workers and longer runs."""

JOBS: dict[str, dict[str, Any]] = {
    "downpour": {"strategy": {"n_push": 4, "n_fetch": 4}},
    "geo": {"strategy": {"window": 10}},
    "diloco": ADAMW,
    "delayed_diloco": ADAMW,
}
"""What differs from a strategy's defaults. DiLoCo's inner optimizer is AdamW, as in its paper. A GEO window of 100 would leave 8
merges to each of 16 workers; with one of 1, DOWNPOUR is asynchronous SGD."""

SMALLER = {"eamsgd": 10, "diloco": 100, "delayed_diloco": 100}
"""What the grid is divided by: momentum 0.9 makes ten times as large a step, AdamW has steps of about its rate."""


def grid(scale: Scale, name: str) -> list[float]:
    return [rate / SMALLER.get(name, 1) for rate in scale.rates]


def job(name: str, rate: float, **strategy: Any) -> dict[str, Any]:
    more = JOBS.get(name, {})
    return {**more, "strategy": {"name": name, **more.get("strategy", {}), "lr": rate, **strategy}}


def workers(name: str) -> int:
    return STRATEGIES[name].workers or AT


def tried(scale: Scale, lab: Lab, name: str) -> dict[float, float]:
    """The accuracy on held-out images for each rate. Raises: Missing."""
    return {rate: lab[search(scale, name, rate)]["held_out"] for rate in grid(scale, name)}


def search(scale: Scale, name: str, rate: float) -> Run:
    return training(scale, job(name, rate), workers(name), samples=scale.search)


def best(scale: Scale, lab: Lab, name: str) -> float:
    """The rate of this strategy in every other experiment: the smallest that is nearly the best. Raises: Missing."""
    found = tried(scale, lab, name)
    return min(rate for rate, accuracy in found.items() if accuracy >= max(found.values()) - TOLERANCE - 1e-9)


def runs(scale: Scale, _lab: Lab) -> list[Run]:
    return [search(scale, name, rate) for name in STRATEGIES for rate in grid(scale, name)]


def tables(scale: Scale, lab: Lab) -> list[Table]:
    rows = []
    for name in STRATEGIES:
        found, chosen = tried(scale, lab, name), best(scale, lab, name)
        edge = "" if len(found) < 3 or chosen not in (min(found), max(found)) else " (end of the grid)"
        cells = [f"**{percent(a)}**" if rate == chosen else percent(a) for rate, a in found.items()]
        rows.append([f"`{name}`", f"{chosen:g}{edge}", *cells])
    return [Table(["strategy", "chosen", *(f"{rate:g}" for rate in scale.rates)], rows)]


def findings(_scale: Scale, _lab: Lab) -> list[Finding]:
    return []


EXPERIMENT = Experiment(
    "rates",
    "Learning rates",
    f"Every strategy trains 22,000 samples with {AT} workers at each rate of one grid (for `eamsgd` a tenth of it, for the two "
    "DiLoCos, whose inner optimizer is AdamW, a hundredth). The smallest rate whose accuracy on 5,000 held-out training images "
    "is within one point of the best is used in all experiments below, for every n and window: nothing is tuned per n. (The best "
    "itself is often the last before a run diverges.) The table has the accuracies, in %.",
    runs,
    findings,
    tables=tables,
)

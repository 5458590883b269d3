"""DOWNPOUR, ADAG, DynSGD and asynchronous EASGD as the number of workers and the window grow."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from benchmarks.report import plots
from benchmarks.report.experiments import rates, strategies
from benchmarks.report.experiments.base import Experiment, Finding, Scale, Table, listed, percent, training
from benchmarks.report.lab import Lab, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("downpour", "adag", "dynsgd", "easgd")
SWEPT = ("downpour", "adag", "dynsgd")
WINDOWS = (1, 2, 4, 8, 16, 32, 64)
AT = 4
"""Workers in the sweep over windows."""
LOSS = 0.02
"""A window is usable while the accuracy is at most this much below the best of its strategy."""


def windowed(name: str, window: int) -> dict[str, Any]:
    return {"n_push": window, "n_fetch": window} if name == "downpour" else {"window": window}


def at_window(scale: Scale, lab: Lab, name: str, window: int) -> Run:
    job = rates.job(name, rates.best(scale, lab, name), **windowed(name, window))
    return training(scale, job, min(AT, max(scale.workers)))


def counts(scale: Scale) -> list[int]:
    return sorted({*scale.workers, scale.most})


def runs(scale: Scale, lab: Lab) -> list[Run]:
    over_n = [strategies.run(scale, lab, name, n) for name in NAMES for n in counts(scale)]
    return over_n + [at_window(scale, lab, name, window) for name in SWEPT for window in WINDOWS]


def over_n(scale: Scale, lab: Lab, name: str) -> dict[int, float]:
    return {n: lab[strategies.run(scale, lab, name, n)]["accuracy"] for n in counts(scale)}


def over_windows(scale: Scale, lab: Lab, name: str) -> dict[int, float]:
    return {window: lab[at_window(scale, lab, name, window)]["accuracy"] for window in WINDOWS}


def largest(accuracies: dict[int, float]) -> int:
    """The largest window up to which all are usable."""
    usable = 0
    for window, accuracy in sorted(accuracies.items()):
        if accuracy >= max(accuracies.values()) - LOSS:
            usable = window
        elif usable:
            break
    return usable


def figure(scale: Scale, lab: Lab) -> Figure:
    made, (left, right) = plots.panels(2, height=3.3)
    plots.lines(left, {name: {n: 100 * a for n, a in over_n(scale, lab, name).items()} for name in NAMES})
    plots.doubling(left, counts(scale), "workers")
    plots.lines(right, {name: {w: 100 * a for w, a in over_windows(scale, lab, name).items()} for name in SWEPT})
    plots.doubling(right, WINDOWS, "window")
    left.set(title="each with its own window", ylabel="test accuracy, %")
    right.set(title=f"{min(AT, max(scale.workers))} workers", ylabel="test accuracy, %")
    for axis in (left, right):
        axis.set_ylim(0, 100)
        axis.legend(loc="lower left")
    return made


def tables(scale: Scale, lab: Lab) -> list[Table]:
    n_rows = [[f"`{name}`", *(percent(a) for a in over_n(scale, lab, name).values())] for name in NAMES]
    w_rows = [[f"`{name}`", *(percent(a) for a in over_windows(scale, lab, name).values())] for name in SWEPT]
    return [
        Table(["test accuracy, %", *(f"n = {n}" for n in counts(scale))], n_rows),
        Table(["test accuracy, %", *(f"window {w}" for w in WINDOWS)], w_rows),
    ]


def findings(scale: Scale, lab: Lab) -> list[Finding]:
    n = {name: over_n(scale, lab, name) for name in NAMES}
    window = {name: over_windows(scale, lab, name) for name in SWEPT}
    usable = {name: largest(accuracies) for name, accuracies in window.items()}
    least, most = min(counts(scale)), max(counts(scale))
    lost = {name: of[least] - of[most] for name, of in n.items()}
    elastic = [n["easgd"][k] for k in sorted(n["easgd"])]
    said = ", ".join(f"`{name}` {100 * value:.1f}" for name, value in lost.items())
    return [
        Finding(
            "DOWNPOUR collapses as n grows", "Hermans, dist-keras article; thesis",
            n["downpour"][most] < 0.5, listed(n["downpour"]),
        ),
        Finding(
            "DOWNPOUR collapses as the window grows", "Zhang et al. 2015: unstable at 16 to 64",
            window["downpour"][max(WINDOWS)] < 0.5, listed(window["downpour"]),
        ),
        Finding(
            f"ADAG does not decline up to {most} workers (by at most 2 points)", "dist-keras article: none up to 30 workers",
            lost["adag"] <= 0.02, listed(n["adag"]),
        ),
        Finding(
            "ADAG's largest usable window is about three times DOWNPOUR's (two to six times, windows being doubled here)",
            "dist-keras: 12 against 5", 2 <= usable["adag"] / max(1, usable["downpour"]) <= 6,
            f"usable up to: DOWNPOUR {usable['downpour']}, ADAG {usable['adag']}; ADAG: {listed(window['adag'])}",
            "ADAG's pushes do not grow with the window, so nothing blows up at any of these; what a longer window costs it is "
            "fewer steps of the center from the same samples. DOWNPOUR's usable window depends on how near its rate is to the "
            "edge.",
        ),
        Finding(
            "AEASGD declines steadily with n: never by a jump, each time by a little", "dist-keras article",
            all(b <= a + 0.003 for a, b in pairwise(elastic)) and lost["easgd"] > 0.005 and elastic[-1] > 0.5,
            listed(n["easgd"]),
        ),
        Finding(
            f"DynSGD is between ADAG and DOWNPOUR in what it loses from {least} to {most} workers (points)",
            "Jiang et al. 2017; dist-keras", lost["adag"] <= lost["dynsgd"] <= lost["downpour"], said,
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    "scaling", "Growing n, growing windows",
    "Two passes, as above. Left: each strategy with its window (DOWNPOUR 4, ADAG 12, DynSGD 5, EASGD 10, asynchronous), on up to "
    "32 workers. Right: 4 workers, windows from 1 to 64. Rates are those of the search at n = 4 with the default windows.",
    runs, findings, {"scaling": figure}, tables,
)  # fmt: skip

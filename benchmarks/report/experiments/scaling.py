"""DOWNPOUR, ADAG, DynSGD and asynchronous EASGD as the number of workers and the window grow."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from benchmarks.report import plots
from benchmarks.report.experiments import rates, strategies
from benchmarks.report.experiments.base import Experiment, Finding, Scale, Table, listed, percent, training
from benchmarks.report.lab import Lab, Run, Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("downpour", "adag", "dynsgd", "easgd")
SWEPT = ("downpour", "adag", "dynsgd")
WINDOWS = (1, 2, 4, 8, 16, 32, 64)
AT = 4
"""Workers in the sweep over windows."""
WIDER = 3
"""Quarters of n: a window of 12 for 16 workers is one of 24 for 32."""
WHOLE = 0.8
"""An accuracy below this is a collapse."""
LOSS = 0.02
"""A window is usable while the accuracy is at most this much below the best of its strategy."""


def windowed(name: str, window: int) -> dict[str, Any]:
    return {"n_push": window, "n_fetch": window} if name == "downpour" else {"window": window}


def at_window(scale: Scale, lab: Lab, name: str, window: int) -> Run:
    job = rates.job(name, rates.best(scale, lab, name), **windowed(name, window))
    return training(scale, job, min(AT, max(scale.workers)))


def wider(scale: Scale, lab: Lab) -> Run:
    """ADAG on the most workers with a window that has grown with them."""
    job = rates.job("adag", rates.best(scale, lab, "adag"), window=WIDER * scale.most // 4)
    return training(scale, job, scale.most)


def counts(scale: Scale) -> list[int]:
    return sorted({*scale.workers, scale.most})


def runs(scale: Scale, lab: Lab) -> list[Run]:
    over_n = [strategies.run(scale, lab, name, n) for name in NAMES for n in counts(scale)]
    over_n.append(wider(scale, lab))
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
    return [*growing_n(scale, lab), *growing_windows(scale, lab)]


def growing_n(scale: Scale, lab: Lab) -> list[Finding]:
    n = {name: over_n(scale, lab, name) for name in NAMES}
    least, listed_most, most = min(scale.workers), max(scale.workers), max(counts(scale))
    lost = {name: of[least] - of[listed_most] for name, of in n.items()}
    elastic = [n["easgd"][k] for k in sorted(n["easgd"])]
    said = ", ".join(f"`{name}` {100 * value:.1f} ({percent(n[name][most])} % at n = {most})" for name, value in lost.items())
    narrow, wide = lab[strategies.run(scale, lab, "adag", most)], lab[wider(scale, lab)]
    return [
        Finding(
            "DOWNPOUR collapses as n grows",
            "Hermans, dist-keras article; thesis",
            n["downpour"][most] < 0.5,
            listed(n["downpour"]),
        ),
        Finding(
            f"ADAG does not decline up to {listed_most} workers (by at most 2 points)",
            "dist-keras article: none up to 30",
            lost["adag"] <= 0.02,
            listed(n["adag"]),
        ),
        Finding(
            f"ADAG does not decline up to {most} workers, either",
            "dist-keras article: none up to 30",
            n["adag"][least] - n["adag"][most] <= 0.02,
            f"n = {most}: {percent(n['adag'][most])} (best on the way {percent(top(narrow))}); with a window of "
            f"{WIDER * most // 4} instead of 12: {percent(wide['accuracy'])} (best on the way {percent(top(wide))})",
            "A push moves c / window of the way, c being at most 1 for rates below 1 / curvature, and must stay below "
            "2 sin(pi / (2 (2n - 1))). A window of 12 ensures that for every curvature up to n = 19, not for 32: the curve rises, "
            "then wanders and falls. One of 24 does; its curve rises until each worker's last window, which is shorter, divided by "
            "its own length, and so moves a larger share again. The thesis, too, has larger windows with more workers.",
        ),
        Finding(
            "AEASGD declines steadily with n: never by a jump, each time by a little",
            "dist-keras article",
            all(b <= a + 0.003 for a, b in pairwise(elastic)) and elastic[0] - elastic[-1] > 0.005 and elastic[-1] > 0.5,
            listed(n["easgd"]),
        ),
        Finding(
            f"DynSGD is between ADAG and DOWNPOUR in what it loses from {least} to {listed_most} workers (points)",
            "Jiang et al. 2017; dist-keras",
            lost["adag"] <= lost["dynsgd"] <= lost["downpour"],
            said,
        ),
    ]


def top(result: Values) -> float:
    return float(max(accuracy for _, _, accuracy in result["curve"]))


def growing_windows(scale: Scale, lab: Lab) -> list[Finding]:
    window = {name: over_windows(scale, lab, name) for name in SWEPT}
    usable = {name: largest(accuracies) for name, accuracies in window.items()}
    whole = {name: max((w for w, a in of.items() if a >= WHOLE), default=0) for name, of in window.items()}
    return [
        Finding(
            "DOWNPOUR collapses as the window grows",
            "Zhang et al. 2015: unstable at 16 to 64",
            window["downpour"][max(WINDOWS)] < 0.5,
            listed(window["downpour"]),
        ),
        Finding(
            f"ADAG's window may be at least three times DOWNPOUR's before it collapses (below {100 * WHOLE:.0f} %)",
            "dist-keras: 12 against 5",
            whole["adag"] >= 3 * whole["downpour"],
            f"largest window without a collapse: DOWNPOUR {whole['downpour']}, ADAG {whole['adag']} of {max(WINDOWS)}",
        ),
        Finding(
            f"ADAG's window is two to six times DOWNPOUR's, if {100 * LOSS:.0f} points below its own best is the measure",
            "dist-keras: 12 against 5",
            2 <= usable["adag"] / max(1, usable["downpour"]) <= 6,
            f"usable up to: DOWNPOUR {usable['downpour']}, ADAG {usable['adag']}; ADAG: {listed(window['adag'])}",
            "A longer window of ADAG never blows up, but it makes fewer steps of the same size from the same samples, so its "
            "accuracy falls from the beginning; longer training would hide that. DOWNPOUR, whose pushes are sums, loses nothing "
            "until it collapses, and its rate here is the lowest of the grid.",
        ),
    ]


EXPERIMENT = Experiment(
    "scaling",
    "Growing n, growing windows",
    "Two passes, as above. Left: each strategy with its window (DOWNPOUR 4, ADAG 12, DynSGD 5, EASGD 10, asynchronous), on up to "
    "32 workers. Right: 4 workers, windows from 1 to 64. Rates are those of the search at n = 4 with the default windows.",
    runs,
    findings,
    {"scaling": figure},
    tables,
)

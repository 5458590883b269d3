"""Learning rate x window x n: where training becomes unstable, measured and by formula."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from benchmarks.report import plots
from benchmarks.report.experiments.base import Experiment, Finding, Scale, Table
from benchmarks.report.experiments.scaling import windowed
from benchmarks.report.lab import Lab, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNTS = (1, 2, 4, 8, 16)
WINDOWS = (1, 5, 15)
NAMES = ("async", "dynsgd", "downpour", "adag")
MAPPED = 8
MAP_WINDOWS = (1, 2, 3, 5, 8, 12, 20)
MAP_RATES = tuple(round(0.02 * 2 ** (k / 2), 4) for k in range(15))
LOWEST = {"downpour": 0.001}
"""Where the search for an edge begins, if not at 0.01."""
TOLERANCE = 0.02


def bound(n: int) -> float:
    """With workers in turn the center obeys x(t+1) = x(t) - a x(t-n+1), which is stable for 0 < a < this."""
    return 2 * math.sin(math.pi / (2 * (2 * n - 1)))


def moved(name: str, n: int, window: int, rate: float) -> float:
    """The share a of the way to the minimum that a push moves: a window's, or what the server leaves of it."""
    share = {"adag": 1 / window, "dynsgd": 1 / n}.get(name, 1.0)
    return float(share * (1 - (1 - rate) ** window))


def limit(name: str, n: int, window: int) -> float:
    """The smallest rate above which `moved` is beyond `bound`; with an even window it may not be until the rate is 2."""
    way = bound(n) * {"adag": window, "dynsgd": n}.get(name, 1)
    left = 0.0 if abs(1 - way) < 1e-12 else 1 - way  # (1 - rate)^window
    if left < 0 and window % 2 == 0:
        return 2.0
    return 1 - math.copysign(abs(left) ** (1 / window), left)


def windows(name: str) -> tuple[int, ...]:
    return (1,) if name == "async" else WINDOWS


def job(name: str, window: int) -> dict[str, Any]:
    return {"name": name} if name == "async" else {"name": name, **windowed(name, window)}


def edge(scale: Scale, name: str, n: int, window: int) -> Run:
    settings = {"strategy": job(name, window), "workers": n, "halvings": scale.halvings, "events": scale.turns * max(n, 4)}
    return Run("edge", {**settings, **({"lowest": LOWEST[name]} if name in LOWEST else {})})


def row(scale: Scale, name: str, window: int) -> Run:
    events = scale.turns * MAPPED // 2
    return Run("distances", {"strategy": job(name, window), "workers": MAPPED, "rates": list(MAP_RATES), "events": events})


def cases() -> list[tuple[str, int, int]]:
    return [(name, n, window) for name in NAMES for window in windows(name) for n in COUNTS]


def runs(scale: Scale, _lab: Lab) -> list[Run]:
    return [edge(scale, *case) for case in cases()] + [row(scale, name, window) for name in NAMES[1:] for window in MAP_WINDOWS]


def edges_figure(scale: Scale, lab: Lab) -> Figure:
    made, axes = plots.panels(4, width=10, height=2.8, share=True)
    for axis, name in zip(axes, NAMES, strict=True):
        measured = {f"window {w}": {n: lab[edge(scale, name, n, w)]["edge"] for n in COUNTS} for w in windows(name)}
        plots.lines(axis, measured, linestyle="none")
        for window, colour in zip(windows(name), plots.COLOURS, strict=False):
            axis.plot(COUNTS, [limit(name, n, window) for n in COUNTS], color=colour, linewidth=1)
        plots.doubling(axis, COUNTS, "workers")
        axis.set_yscale("log")
        axis.set(title=name)
        axis.legend(loc="lower left")
    axes[0].set_ylabel("largest stable rate x curvature")
    return made


def map_figure(scale: Scale, lab: Lab) -> Figure:
    made, axes = plots.panels(3, width=9, height=3, share=True)
    for axis, name in zip(axes, NAMES[1:], strict=True):
        ends = [[12.0 if end is None else end for end in lab[row(scale, name, window)]["ends"]] for window in MAP_WINDOWS]
        image = axis.imshow(ends, aspect="auto", origin="lower", cmap="RdBu_r", vmin=-12, vmax=12)
        axis.set_xticks(range(0, len(MAP_RATES), 2), [f"{rate:.2g}" for rate in MAP_RATES[::2]], rotation=60)
        axis.set_yticks(range(len(MAP_WINDOWS)), [str(window) for window in MAP_WINDOWS])
        found = [(limit(name, MAPPED, window), k) for k, window in enumerate(MAP_WINDOWS)]
        axis.plot([2 * math.log2(x / MAP_RATES[0]) for x, _ in found], [k for _, k in found], "k.-", linewidth=1.2, label="formula")
        axis.set(title=f"{name}, n = {MAPPED}", xlabel="rate x curvature", xlim=(-0.5, len(MAP_RATES) - 0.5))
        axis.grid(visible=False)
        axis.legend(loc="upper left", frameon=True)
    axes[0].set_ylabel("window")
    made.colorbar(image, ax=axes, label="log10 of the final distance")
    return made


def tables(scale: Scale, lab: Lab) -> list[Table]:
    rows = [
        [f"`{name}` window {w}", *(f"{lab[edge(scale, name, n, w)]['edge']:.4f} / {limit(name, n, w):.4f}" for n in COUNTS)]
        for name in NAMES
        for w in windows(name)
    ]
    return [Table(["measured / exact edge of rate x curvature", *(f"n = {n}" for n in COUNTS)], rows)]


def findings(scale: Scale, lab: Lab) -> list[Finding]:
    off = {case: error(case, lab[edge(scale, *case)]["edge"]) for case in cases()}
    worst = max(off, key=lambda case: abs(off[case]))
    wrong = wrong_cells(scale, lab)
    at = {name: lab[edge(scale, name, 16, 15)]["edge"] for name in ("downpour", "adag", "dynsgd")}
    return [
        Finding(
            f"The measured edges are the exact limits (within {100 * TOLERANCE:.0f} %)",
            "roots of the recursion",
            abs(off[worst]) <= TOLERANCE,
            f"{len(off)} edges; furthest off: {worst[0]}, n = {worst[1]}, window {worst[2]}: {100 * off[worst]:+.2f} %",
        ),
        Finding(
            "On the map, runs grow above the limit and shrink below it (cells nearer than 15 % to it not counted)",
            "roots of the recursion",
            not wrong,
            f"{len(wrong)} cells on the wrong side" + (f": {wrong[:3]}" if wrong else ""),
        ),
        Finding(
            "With many workers and long windows, DOWNPOUR tolerates a small part of the rate that ADAG and DynSGD do",
            "Hermans 2017, chapter 3",
            5 * at["downpour"] < min(at["adag"], at["dynsgd"]),
            "n = 16, window 15: " + ", ".join(f"`{name}` {value:.3f}" for name, value in at.items()),
        ),
    ]


def error(case: tuple[str, int, int], measured: float) -> float:
    """Of an edge: of its rate, or of what a push moves there, which may hardly depend on the rate."""
    return min(measured / limit(*case) - 1, moved(*case, measured) / bound(case[1]) - 1, key=abs)


def stable(name: str, window: int, rate: float) -> bool:
    """With an even window, also just below 2: it ends near where it began."""
    return 0 < moved(name, MAPPED, window, rate) < bound(MAPPED)


def wrong_cells(scale: Scale, lab: Lab) -> list[tuple[str, int, float]]:
    wrong = []
    for name in NAMES[1:]:
        for window in MAP_WINDOWS:
            for rate, end in zip(MAP_RATES, lab[row(scale, name, window)]["ends"], strict=True):
                near = {stable(name, window, share * rate) for share in (0.85, 1, 1.15)}
                if len(near) == 1 and near != {end is not None and end < 0}:
                    wrong.append((name, window, rate))
    return wrong


EXPERIMENT = Experiment(
    "stability",
    "Stability: learning rate x window x n",
    "The parabola x^2 / 2 without noise, workers in turn. For each strategy, window and n the edge is found by halving, from "
    "whether the center comes nearer in the second half of the run; dots are measured, lines are the formula. The map has n = 8: "
    "blue ends nearer to the minimum than it began, red further from it, and the line is the formula.",
    runs,
    findings,
    {"edges": edges_figure, "map": map_figure},
    tables,
)

"""Who is stale by how much: whatever the speeds, n - 1 on the mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.report import plots
from benchmarks.report.experiments.base import Experiment, Finding, Scale, Table
from benchmarks.report.lab import Lab, Run, Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPEEDS = ("constant", "lognormal:0.5", "straggler:5", "memoryless")
DRAWN = 8
COUNTS = (2, 4, 8, 16, 32)


def run(scale: Scale, speeds: str, n: int) -> Run:
    return Run("staleness", {"workers": n, "speeds": speeds, "events": scale.events})


def runs(scale: Scale, _lab: Lab) -> list[Run]:
    return [run(scale, speeds, n) for speeds in SPEEDS for n in COUNTS]


def shares(result: Values) -> dict[int, float]:
    pushes = sum(count for _, count in result["histogram"])
    return {staleness: count / pushes for staleness, count in result["histogram"]}


def geometric(n: int, staleness: int) -> float:
    return (1 - 1 / n) ** staleness / n


def figure(scale: Scale, lab: Lab) -> Figure:
    made, axes = plots.panels(4, width=10, height=2.6)
    for axis, speeds in zip(axes, SPEEDS, strict=True):
        result = lab[run(scale, speeds, DRAWN)]
        found = shares(result)
        axis.bar(list(found), list(found.values()), width=0.9, color=plots.COLOURS[0])
        axis.axvline(DRAWN - 1, color=plots.COLOURS[1], linestyle="--", linewidth=1.2, label=f"n - 1 = {DRAWN - 1}")
        if speeds == "memoryless":
            expected = range(max(found) + 1)
            axis.plot(expected, [geometric(DRAWN, s) for s in expected], color="black", linewidth=1.2, label="geometric")
        axis.set(title=f"{speeds}: mean {result['mean']:.2f}", xlabel="staleness", xlim=(-1, 45))
        axis.legend(loc="upper right")
    axes[0].set_ylabel("share of pushes")
    return made


def tables(scale: Scale, lab: Lab) -> list[Table]:
    rows = [
        [f"`{speeds}`", *(f"{of['mean']:.3f} (largest {of['largest']})" for of in (lab[run(scale, speeds, n)] for n in COUNTS))]
        for speeds in SPEEDS
    ]
    return [Table(["mean staleness", *(f"n = {n}" for n in COUNTS)], rows)]


def findings(scale: Scale, lab: Lab) -> list[Finding]:
    off = {(speeds, n): lab[run(scale, speeds, n)]["mean"] - (n - 1) for speeds in SPEEDS for n in COUNTS}
    worst = max(off, key=lambda at: abs(off[at]) / at[1])
    result = lab[run(scale, "memoryless", DRAWN)]
    found = shares(result)
    distance = sum(abs(found.get(s, 0.0) - geometric(DRAWN, s)) for s in range(result["largest"] + 200)) / 2
    return [
        Finding(
            "The mean is n - 1 for every distribution of speeds (within 3 %, the runs being finite)",
            "identity of pulls and pushes",
            all(abs(value) <= 0.03 * n for (_, n), value in off.items()),
            f"furthest off: {worst[0]}, n = {worst[1]}: {off[worst]:+.3f}",
        ),
        Finding(
            "Memoryless workers give a geometric distribution, P(s) = (1 - 1/n)^s / n (total variation below 0.06)",
            "Mitliagkas et al. 2016",
            distance < 0.06,
            f"n = {DRAWN}: total variation {distance:.3f}, P(0) = {found.get(0, 0.0):.4f}",
        ),
    ]


EXPERIMENT = Experiment(
    "staleness",
    "Staleness whatever the speeds",
    "Asynchronous SGD on the toy problem, 4,000 pushes, no gate. Pulls that are open at the end are not counted, so a finite run "
    "is a little below n - 1. A straggler that takes 5 times as long is very stale itself; the others are a little less for it.",
    runs,
    findings,
    {"staleness": figure},
    tables,
)

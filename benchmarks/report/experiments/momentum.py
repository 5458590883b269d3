"""Asynchrony begets momentum: 1 - 1/n of it, and what the correction makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.report import plots
from benchmarks.report.experiments.base import Experiment, Finding, Scale, Table
from benchmarks.report.lab import Lab, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNTS = (2, 4, 8, 16)
TARGET = 0.5
TOLERANCE = 0.02


def rate(n: int) -> float:
    """Large steps are seen best against the noise, but must be stable."""
    return min(0.4, 3.2 / n)


def run(scale: Scale, n: int, target: float | None) -> Run:
    return Run("momentum", {"workers": n, "target": target, "lr": rate(n), "events": scale.long})


def runs(scale: Scale, _lab: Lab) -> list[Run]:
    return [run(scale, n, target) for target in (None, TARGET) for n in COUNTS]


def totals(scale: Scale, lab: Lab, target: float | None) -> dict[int, float]:
    return {n: lab[run(scale, n, target)]["total"] for n in COUNTS}


def figure(scale: Scale, lab: Lab) -> Figure:
    made, [axis] = plots.panels(1, width=5, height=3.2)
    measured = {"no momentum set": totals(scale, lab, None), f"momentum {TARGET}, corrected": totals(scale, lab, TARGET)}
    plots.lines(axis, measured, linestyle="none")
    axis.plot(COUNTS, [1 - 1 / n for n in COUNTS], color=plots.COLOURS[0], linewidth=1)
    axis.axhline(TARGET, color=plots.COLOURS[1], linewidth=1)
    plots.doubling(axis, COUNTS, "workers")
    axis.set(ylabel="total momentum", ylim=(0, 1), title="dots: fitted; lines: 1 - 1/n, and what was asked for")
    axis.legend(loc="lower right")
    return made


def tables(scale: Scale, lab: Lab) -> list[Table]:
    rows = []
    for n in COUNTS:
        plain, corrected = lab[run(scale, n, None)], lab[run(scale, n, TARGET)]
        rows.append(
            [
                str(n),
                f"{1 - 1 / n:.4f}",
                f"{plain['total']:.4f}",
                f"{rate(n) / n:.4f}",
                f"{plain['pull']:.4f}",
                f"{corrected['server']:+.4f}",
                f"{corrected['total']:.4f}",
            ]
        )
    header = ["n", "1 - 1/n", "fitted", "rate / n", "fitted", f"server's, for {TARGET}", "total, fitted"]
    return [Table(header, rows)]


def findings(scale: Scale, lab: Lab) -> list[Finding]:
    plain, corrected = totals(scale, lab, None), totals(scale, lab, TARGET)
    return [
        Finding(
            f"Asynchronous SGD with memoryless workers has momentum 1 - 1/n (within {TOLERANCE})",
            "Mitliagkas et al. 2016",
            all(abs(total - (1 - 1 / n)) <= TOLERANCE for n, total in plain.items()),
            ", ".join(f"n = {n}: {total:.3f}" for n, total in plain.items()),
            "The fit is of a finite, noisy run: its spread for n = 2 is about 0.01.",
        ),
        Finding(
            f"With `momentum_correction` the total is what was asked for, {TARGET}, for every n (within {TOLERANCE})",
            "Mitliagkas et al. 2016; Zhang, Mitliagkas 2017",
            all(abs(total - TARGET) <= TOLERANCE for total in corrected.values()),
            ", ".join(f"n = {n}: {total:.3f}" for n, total in corrected.items()),
            "The fit is of a finite, noisy run: its spread for n = 2 is about 0.01.",
        ),
    ]


EXPERIMENT = Experiment(
    "momentum",
    "Implicit momentum",
    "Asynchronous SGD on x^2 / 2 with normal noise in each gradient, memoryless workers, 60,000 pushes. Fitted: the steps' "
    "x(t+1) - x(t) = m (x(t) - x(t-1)) - a x(t), by instruments (earlier positions). With `momentum: 0.5, "
    "momentum_correction: true` the server takes 0.5 - (1 - 1/n), which is below 0 from n = 4 on (and 0 at n = "
    "2, so there both are the same).",
    runs,
    findings,
    {"momentum": figure},
    tables,
)

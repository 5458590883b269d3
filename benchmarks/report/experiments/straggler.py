"""One worker that is five times slower, under BSP, SSP(3), backup workers and ASP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.report import plots
from benchmarks.report.experiments import rates
from benchmarks.report.experiments.base import Experiment, Finding, Scale, Table, first_reaching, percent, training
from benchmarks.report.lab import Lab, Run, Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT = 8
TARGET = 0.95
SPEEDS = ("constant", "straggler:5")


def workers(scale: Scale) -> int:
    return min(AT, max(scale.workers))


def gates(scale: Scale) -> dict[str, tuple[str, Any]]:
    backup = {"mode": "bsp", "quorum": workers(scale) - 1}
    return {"BSP": ("sync", "bsp"), "SSP(3)": ("async", {"ssp": 3}), "backup": ("sync", backup), "ASP": ("async", "asp")}


def run(scale: Scale, lab: Lab, gate: str, speeds: str) -> Run:
    name, chosen = gates(scale)[gate]
    job = {**rates.job(name, rates.best(scale, lab, name)), "gate": chosen}
    return training(scale, job, workers(scale), shared=True, speeds=speeds)


def runs(scale: Scale, lab: Lab) -> list[Run]:
    return [run(scale, lab, gate, of) for of in SPEEDS for gate in gates(scale)]


def slowed(scale: Scale, lab: Lab, gate: str) -> float:
    even, uneven = (lab[run(scale, lab, gate, of)]["time"] for of in SPEEDS)
    return float(uneven / even)


def figure(scale: Scale, lab: Lab) -> Figure:
    made, axes = plots.panels(2, height=3.2, share=True)
    for axis, of in zip(axes, SPEEDS, strict=True):
        curves = {gate: lab[run(scale, lab, gate, of)]["curve"] for gate in gates(scale)}
        plots.lines(axis, {gate: {time: 100 * a for _, time, a in curve} for gate, curve in curves.items()})
        axis.set(title=of, xlabel="virtual time", ylim=(80, 99))
        axis.set_xscale("log")
    axes[0].set_ylabel("test accuracy, %")
    axes[1].legend(loc="lower right")
    return made


def tables(scale: Scale, lab: Lab) -> list[Table]:
    rows = []
    for gate in gates(scale):
        even, uneven = (lab[run(scale, lab, gate, of)] for of in SPEEDS)
        at = first_reaching(uneven, TARGET)
        rows.append(
            [
                gate,
                f"{even['time']:.0f}",
                f"{uneven['time']:.0f}",
                f"{slowed(scale, lab, gate):.2f}",
                f"{at[1]:.0f}" if at else "-",
                percent(even["accuracy"]),
                percent(uneven["accuracy"]),
                f"{100 * share_of_slowest(uneven):.1f}",
                str(uneven["dropped"]),
            ]
        )
    header = [
        "gate",
        "time, all equal",
        "time, straggler",
        "ratio",
        f"time to {100 * TARGET:.0f} %",
        "accuracy, all equal",
        "accuracy, straggler",
        "straggler's share of the pushes, %",
        "dropped",
    ]
    return [Table(header, rows)]


def share_of_slowest(result: Values) -> float:
    pushed = result["trained"]
    return float(pushed[max(pushed, key=int)] / sum(pushed.values()))


def findings(scale: Scale, lab: Lab) -> list[Finding]:
    slow = {gate: slowed(scale, lab, gate) for gate in gates(scale)}
    accuracy = {gate: lab[run(scale, lab, gate, "straggler:5")]["accuracy"] for gate in gates(scale)}
    n = workers(scale)
    fair = n / (n - 1 + 1 / 5)
    return [
        Finding(
            "BSP is as slow as the slowest: at least 4 times (messages take the same time as before)",
            "Chen et al. 2016",
            4 <= slow["BSP"] <= 5.2,
            f"{slow['BSP']:.2f} times as long",
        ),
        Finding(
            "Backup workers take the straggler out: at most 1.3 times",
            "Chen et al. 2016",
            slow["backup"] <= 1.3,
            f"{slow['backup']:.2f} times; accuracy {percent(accuracy['backup'])} against {percent(accuracy['BSP'])} under BSP",
        ),
        Finding(
            f"ASP loses only what the straggler does not contribute: {fair:.2f} times (within 10 %)",
            "Dean et al. 2012",
            abs(slow["ASP"] / fair - 1) <= 0.1,
            f"{slow['ASP']:.2f} times",
        ),
        Finding(
            "SSP(3) is clearly faster than BSP with a straggler (by a fifth or more)",
            "Ho et al. 2013",
            slow["SSP(3)"] <= 0.8 * slow["BSP"],
            f"SSP(3) {slow['SSP(3)']:.2f} times, BSP {slow['BSP']:.2f} times",
            "The bound is on rounds: a worker that is *always* five times slower uses up the others' 3 rounds once, and from then "
            "on they go at its pace. SSP's gain in the paper is with delays that change from worker to worker; against a lasting "
            "straggler only dropping its pushes or not waiting helps.",
        ),
        Finding(
            "Asynchrony costs no accuracy here: ASP is within 1 point of BSP at equal samples",
            "Dean et al. 2012",
            accuracy["ASP"] >= accuracy["BSP"] - 0.01,
            ", ".join(f"{gate} {percent(a)}" for gate, a in accuracy.items()),
        ),
    ]


EXPERIMENT = Experiment(
    "straggler",
    "One worker five times slower",
    "8 workers train 110,000 samples together; who is faster trains more. All speeds constant, then with the last worker five "
    "times slower. BSP is `sync`; backup is `sync` with a quorum of 7 of 8; SSP(3) and ASP are `async`. The unit of time is a "
    "mini-batch.",
    runs,
    findings,
    {"straggler": figure},
    tables,
)

"""Every strategy at equal samples: accuracy, and virtual time to a target, for n workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.report import plots
from benchmarks.report.experiments import rates
from benchmarks.report.experiments.base import Experiment, Finding, Scale, Table, first_reaching, listed, percent, training
from benchmarks.report.lab import Lab, Run, Values
from gradstream.strategies import STRATEGIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = 0.97
FAMILIES = {
    "gradients": ("sync", "async", "dc_asgd", "downpour"),
    "windows of local steps": ("adag", "dynsgd", "distance", "geo"),
    "averages of models": ("easgd", "eamsgd", "local_sgd", "fedavg", "fedprox"),
    "outer optimizers, and what is new": ("diloco", "delayed_diloco"),
}


def run(scale: Scale, lab: Lab, name: str, n: int) -> Run:
    return training(scale, rates.job(name, rates.best(scale, lab, name)), n)


def counts(scale: Scale, name: str) -> list[int]:
    only = STRATEGIES[name].workers
    return [only] if only else list(scale.workers)


def runs(scale: Scale, lab: Lab) -> list[Run]:
    return [run(scale, lab, name, n) for name in STRATEGIES for n in counts(scale, name)]


def results(scale: Scale, lab: Lab, name: str) -> dict[int, Values]:
    return {n: lab[run(scale, lab, name, n)] for n in counts(scale, name)}


def accuracies(scale: Scale, lab: Lab, name: str) -> dict[int, float]:
    return {n: result["accuracy"] for n, result in results(scale, lab, name).items()}


def families() -> dict[str, tuple[str, ...]]:
    """With every strategy that no family names in the last."""
    last = list(FAMILIES)[-1]
    named = {name for names in FAMILIES.values() for name in names} | {"single"}
    return {**FAMILIES, last: (*FAMILIES[last], *(name for name in STRATEGIES if name not in named))}


def accuracy_figure(scale: Scale, lab: Lab) -> Figure:
    single = accuracies(scale, lab, "single")[1]
    figure, axes = plots.panels(2, 2, share=True)
    for axis, (family, names) in zip(axes, families().items(), strict=True):
        plots.lines(axis, {name: {n: 100 * a for n, a in accuracies(scale, lab, name).items()} for name in names})
        axis.axhline(100 * single, color="#777777", linestyle="--", linewidth=1, label="single")
        plots.doubling(axis, scale.workers, "workers")
        axis.set(title=family, ylabel="test accuracy, %", ylim=(80, 99))
        axis.legend(loc="lower left")
    return figure


def time_figure(scale: Scale, lab: Lab) -> Figure:
    figure, axes = plots.panels(2, 2, share=True)
    for axis, (family, names) in zip(axes, families().items(), strict=True):
        reached = {name: {n: results(scale, lab, name)[n] for n in counts(scale, name)} for name in names}
        found = {name: {n: first_reaching(r, TARGET) for n, r in of.items()} for name, of in reached.items()}
        plots.lines(axis, {name: {n: at[1] for n, at in of.items() if at} for name, of in found.items()})
        plots.doubling(axis, scale.workers, "workers")
        axis.set_yscale("log")
        axis.set(title=family, ylabel=f"virtual time to {100 * TARGET:.0f} %")
        if axis.get_legend_handles_labels()[1]:
            axis.legend(loc="lower left")
    return figure


def cells(scale: Scale, lab: Lab, name: str, cell: Callable[[Values], str]) -> list[str]:
    of = results(scale, lab, name)
    return [cell(of[n]) if n in of else "" for n in scale.workers]


def reached_in_time(result: Values) -> str:
    at = first_reaching(result, TARGET)
    return f"{at[1]:.0f} ({at[0] // 1000}k)" if at else "-"


def tables(scale: Scale, lab: Lab) -> list[Table]:
    header = [f"n = {n}" for n in scale.workers]
    accuracy = [[f"`{name}`", *cells(scale, lab, name, lambda r: percent(r["accuracy"]))] for name in STRATEGIES]
    time = [[f"`{name}`", *cells(scale, lab, name, reached_in_time)] for name in STRATEGIES]
    return [
        Table(["test accuracy, %", *header], accuracy),
        Table([f"virtual time (samples) to {100 * TARGET:.0f} %", *header], time),
    ]


def sooner(scale: Scale, lab: Lab, n: int) -> Finding:
    single = first_reaching(lab[run(scale, lab, "single", 1)], TARGET)
    with_n = {name: first_reaching(results(scale, lab, name)[n], TARGET) for name in STRATEGIES if name != "single"}
    times = {name: at[1] for name, at in with_n.items() if at}
    said = ", ".join(f"`{name}` {times[name]:.0f}" for name in sorted(times, key=lambda name: times[name]))
    return Finding(
        f"With {n} workers some strategy reaches {100 * TARGET:.0f} % in less than half of the time of one worker",
        "Dean et al. 2012; dist-keras README",
        bool(single and times and min(times.values()) < single[1] / 2),
        f"one worker: {f'{single[1]:.0f}' if single else 'not reached'}; {n} workers: {said or 'none reached it'}",
        f"With {n} workers each sees {scale.samples // n} samples in this budget, and no strategy is there yet: more workers "
        "finish sooner, but at equal samples they are less accurate. Papers compare by time: more workers get more samples.",
    )


def findings(scale: Scale, lab: Lab) -> list[Finding]:
    most = max(scale.workers)
    staleness = {n: result["staleness"] for n, result in results(scale, lab, "async").items()}
    return [
        *(sooner(scale, lab, n) for n in sorted({min(4, most), most})),
        Finding(
            "At equal samples `sync` makes n times fewer steps, each with n times the batch: it loses accuracy with n",
            "McCandlish et al. 2018",
            _falls(accuracies(scale, lab, "sync")),
            listed(accuracies(scale, lab, "sync")),
        ),
        Finding(
            "The mean staleness of `async` is n - 1",
            "identity of pulls and pushes",
            all(abs(value - (n - 1)) <= 0.1 * n for n, value in staleness.items()),
            ", ".join(f"n = {n}: {value:.2f}" for n, value in staleness.items()),
        ),
        Finding(
            "At the rate of n = 4, `async` becomes unstable as n grows: what it tolerates falls as 1 / (2n - 1)",
            "roots of the recursion; Dai et al. 2018",
            accuracies(scale, lab, "async")[most] < accuracies(scale, lab, "async")[min(scale.workers)] - 0.05,
            listed(accuracies(scale, lab, "async")),
        ),
    ]


def _falls(accuracies: dict[int, float]) -> bool:
    ordered = [accuracies[n] for n in sorted(accuracies)]
    return ordered[-1] < ordered[0] - 0.005


EXPERIMENT = Experiment(
    "strategies",
    "Every strategy at equal samples",
    "All workers together train two passes over 55,000 training images (110,000 samples), in mini-batches of 64, with the rates "
    "from above; windows are the strategies' defaults (`downpour` 4, `geo` 10). Machines: log-normal speeds with a spread of 0.3; "
    "a message takes 0.1 and the server's work on a push 0.01 of a mini-batch's time, which is the unit of time. Accuracy is that "
    "of the center on the 10,000 test images at the end; the time to the target is read from 2,000 of them, every 5,500 samples.",
    runs,
    findings,
    {"accuracy": accuracy_figure, "time": time_figure},
    tables,
    note="`fedavg` and `fedprox` average once per pass over a worker's own data, so this budget is two rounds of theirs; papers "
    "count hundreds. `diloco` and `delayed_diloco` with a window of 50 make 8 outer steps at n = 4 and 2 at n = 16.",
)

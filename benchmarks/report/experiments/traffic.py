"""Fewer bytes: DiLoCo beside sync, GEO beside async."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.report import plots
from benchmarks.report.experiments import rates, strategies
from benchmarks.report.experiments.base import Experiment, Finding, Scale, Table, percent, training
from benchmarks.report.lab import Lab, Run, Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT = 4
GEO_WINDOWS = (10, 50)


def cases(scale: Scale, lab: Lab) -> dict[str, Run]:
    n = min(AT, max(scale.workers))

    def of(name: str, **strategy: Any) -> Run:
        return training(scale, rates.job(name, rates.best(scale, lab, name), **strategy), n)

    adam = {"strategy": {"name": "sync", "lr": rates.best(scale, lab, "diloco")}, **rates.ADAMW}
    return {
        "sync": strategies.run(scale, lab, "sync", n),
        "sync, AdamW": training(scale, adam, n),
        "diloco H=50": of("diloco"),
        "local_sgd H=50": of("local_sgd", window=50),
        "async": strategies.run(scale, lab, "async", n),
        **{f"geo k={k}": of("geo", window=k) for k in GEO_WINDOWS},
    }


def runs(scale: Scale, lab: Lab) -> list[Run]:
    return list(cases(scale, lab).values())


def results(scale: Scale, lab: Lab) -> dict[str, Values]:
    return {name: lab[run] for name, run in cases(scale, lab).items()}


def figure(scale: Scale, lab: Lab) -> Figure:
    made, [axis] = plots.panels(1, width=7.5, height=3.4)
    plots.lines(axis, {name: {r["bytes"] / 1e9: 100 * r["accuracy"]} for name, r in results(scale, lab).items()}, markersize=8)
    axis.set_xscale("log")
    axis.set(xlabel="GB to and from the center", ylabel="test accuracy, %")
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return made


def tables(scale: Scale, lab: Lab) -> list[Table]:
    of = results(scale, lab)
    rows = [
        [name, percent(r["accuracy"]), f"{r['bytes'] / 1e9:.3f}", f"1/{of['sync']['bytes'] / r['bytes']:.1f}", f"{r['time']:.0f}"]
        for name, r in of.items()
    ]
    return [Table(["", "test accuracy, %", "GB", "of sync's bytes", "virtual time"], rows)]


def findings(scale: Scale, lab: Lab) -> list[Finding]:
    of = results(scale, lab)
    accuracy = {name: r["accuracy"] for name, r in of.items()}
    fewer = of["sync"]["bytes"] / of["diloco H=50"]["bytes"]
    geo = f"geo k={GEO_WINDOWS[0]}"
    saved = of["async"]["bytes"] / of[geo]["bytes"]
    said = ", ".join(f"{name} {percent(accuracy[name])}" for name in ("sync", "sync, AdamW", "diloco H=50", "local_sgd H=50"))
    return [
        Finding(
            "DiLoCo moves 1/50 of the bytes of sync (within a tenth)",
            "Douillard et al. 2023",
            45 <= fewer <= 55,
            f"1/{fewer:.1f}",
        ),
        Finding(
            "With that it is as accurate as sync at equal samples (within 1 point of the better of SGD and AdamW)",
            "Douillard et al. 2023",
            accuracy["diloco H=50"] >= max(accuracy["sync"], accuracy["sync, AdamW"]) - 0.01,
            said,
            "4 workers share two passes: 8 outer steps. The paper has hundreds.",
        ),
        Finding(
            f"GEO with k = {GEO_WINDOWS[0]} moves about 1/{GEO_WINDOWS[0]} of the bytes of async",
            "PaddlePaddle",
            0.8 * GEO_WINDOWS[0] <= saved <= 1.2 * GEO_WINDOWS[0],
            f"1/{saved:.1f}",
        ),
        Finding(
            "GEO loses little accuracy to async (at most 1 point)",
            "PaddlePaddle",
            accuracy[geo] >= accuracy["async"] - 0.01,
            ", ".join(f"{name} {percent(a)}" for name, a in accuracy.items() if name.startswith(("async", "geo"))),
        ),
    ]


EXPERIMENT = Experiment(
    "traffic",
    "Bytes: DiLoCo and GEO",
    "Two passes with 4 workers. Bytes are those of the vectors that workers push and pull, uncompressed. `sync` is shown with SGD "
    "and with AdamW at DiLoCo's inner rate, since DiLoCo's inner optimizer is AdamW. All are also in the table of all strategies, "
    "where each has its own n.",
    runs,
    findings,
    {"traffic": figure},
    tables,
)

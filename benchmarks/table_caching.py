"""Rows that workers keep from push to push, on the planted click log of `examples/deepfm`: bytes of the rows that workers pull,
and the AUC, against the same job without a cache. Simulated, so that neither depends on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from gradstream import sim
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec

FOLDER = Path(__file__).parents[1] / "examples" / "deepfm"
WORKERS = 2


class Trained(NamedTuple):
    row_bytes: int
    """Pulled by all workers."""
    auc: float
    """On the examples that are held out."""


def spec_of(bound: int | None, examples: int) -> JobSpec:
    cache = {} if bound is None else {"cache": {"rows": 200_000, "bound": bound}}
    return JobSpec.model_validate(
        {
            "name": "caching",
            "workload": {"entrypoint": "deepfm:Clicks", "args": {"examples": examples}},
            "strategy": {"name": "async", "lr": 0.05},
            "roles": {"worker": {"count": WORKERS}},
            "optimizer": {"name": "adagrad"},
            "batch_size": 256,
            "stop": {"epochs": 1},
            "tables": {
                "weights": {"rule": {"name": "ftrl", "alpha": 0.1, "l2": 1}, "gradient": "sum", **cache},
                "vectors": {"rule": {"name": "adagrad", "rowwise": True, "lr": 0.1}, "init": {"uniform": 0.01}, **cache},
            },
            "seed": 1,
        }
    )


def trained(bound: int | None, examples: int) -> Trained:
    spec, scores = spec_of(bound, examples), list[dict[str, float]]()
    sys.path.insert(0, str(FOLDER))
    try:
        workloads = Workloads(spec, FOLDER)
        result = sim.run(
            spec,
            workloads,
            costs=sim.Costs("lognormal:0.3"),
            watch=lambda view: scores.append(workloads.evaluate(view)),
            watch_every=examples,
        )
    finally:
        sys.path.remove(str(FOLDER))
    centers = (result.events + WORKERS) * result.center.nbytes  # a worker's first one, and one with each response
    return Trained(result.bytes.pulled - centers, scores[-1]["auc"])


def caching_ratios(bound: int, examples: int) -> tuple[float, float]:
    """Return the bytes of pulled rows with a cache as a share of those without, and how much the AUC differs."""
    without, with_cache = trained(None, examples), trained(bound, examples)
    return with_cache.row_bytes / without.row_bytes, with_cache.auc - without.auc


if __name__ == "__main__":
    for bound in (1, 4, 16):
        print("bound {}: bytes {:.2f}, AUC {:+.4f}".format(bound, *caching_ratios(bound, 100_000)), flush=True)

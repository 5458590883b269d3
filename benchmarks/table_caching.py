"""Rows that workers keep from push to push, on the planted click log of `examples/deepfm`: bytes of the rows that workers pull,
and the AUC, against the same job without a cache. Simulated, so that neither depends on this machine.

Two asynchronous runs differ by chance, so differences are means over seeds. `spread` is the standard error of such a mean."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from gradstream import sim
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec

FOLDER = Path(__file__).parents[1] / "examples" / "deepfm"
WORKERS = 2
SEEDS = range(1, 7)


class Trained(NamedTuple):
    row_bytes: int
    """Pulled by all workers."""
    auc: float
    """On the examples that are held out."""


class Compared(NamedTuple):
    """A cache against none, over several seeds."""

    bytes_share: float
    """Bytes of pulled rows with a cache, as a share of those without."""
    auc: float
    """Mean difference of the AUC."""
    spread: float
    """Standard error of that mean."""
    between_seeds: float
    """Standard deviation of the AUC without a cache, from seed to seed."""


def spec_of(bound: int | None, examples: int, seed: int) -> JobSpec:
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
            "seed": seed,
        }
    )


def trained(bound: int | None, examples: int, seed: int) -> Trained:
    spec, scores = spec_of(bound, examples, seed), list[dict[str, float]]()
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
    """Return the bytes of pulled rows with a cache as a share of those without, and how much the mean AUC differs."""
    found = compare([bound], examples, SEEDS)[bound]
    return found.bytes_share, found.auc


def compare(bounds: Sequence[int], examples: int, seeds: Sequence[int]) -> dict[int, Compared]:
    """Return for each bound what a cache changes. Each seed has one run without a cache and one with each bound."""
    without = [trained(None, examples, seed) for seed in seeds]
    return {bound: _compared(without, [trained(bound, examples, seed) for seed in seeds]) for bound in bounds}


def _compared(without: Sequence[Trained], with_cache: Sequence[Trained]) -> Compared:
    differences = [cached.auc - plain.auc for cached, plain in zip(with_cache, without, strict=True)]
    share = sum(each.row_bytes for each in with_cache) / sum(each.row_bytes for each in without)
    several = len(without) > 1
    spread = stdev(differences) / len(differences) ** 0.5 if several else float("nan")
    return Compared(share, fmean(differences), spread, stdev(each.auc for each in without) if several else float("nan"))


if __name__ == "__main__":
    for bound, found in compare((1, 4, 16), 100_000, SEEDS).items():
        print(
            f"bound {bound}: bytes {found.bytes_share:.2f}, AUC {found.auc:+.4f} +- {found.spread:.4f} over {len(SEEDS)} seeds; "
            f"without a cache it varies by {found.between_seeds:.4f} from seed to seed",
            flush=True,
        )

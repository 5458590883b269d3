"""Costs of update histograms of the mlp: `python -m benchmarks.update_histograms`.

A worker's own problem, replica and sampler train the 784-500-300-10 network on drawn images, batch 128, on one thread. Each
mini-batch is a push. After each stretch of mini-batches, one push is measured: a gradient, and an update that differs from it.
The share is that of one such measurement in `every` mini-batches. All times are processor times."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import torch

from benchmarks import common
from benchmarks.user_logging import BATCH, Logging
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec
from gradstream.training.replica import Replica
from gradstream.updates.layers import layers_of
from gradstream.updates.sampler import measure

AIM = 0.01
EVERY = 100
"""Pushes from which one is measured, the default of the job file."""
STRETCH = 25
"""Mini-batches of a stretch."""


def make_replica() -> Replica:
    spec = JobSpec.model_validate(
        {
            "name": "update-histograms",
            "workload": {"entrypoint": f"{Logging.__module__}:Logging"},
            "strategy": {"name": "adag", "window": 1},
            "batch_size": BATCH,
            "stop": {"steps": 10**6},
            "roles": {"worker": {"count": 1}},
        }
    )
    code = UserCode(spec)
    batches = Batches(code.dataset("train"), spec, 0, code.batching)
    return Replica(spec, ModelProblem(code, FlatModel(code.model(), torch.device("cpu")), batches))


def measure_costs(rounds: int) -> dict[str, Any]:
    """Return costs of a mini-batch, and of one sample: its gradient and, apart from it, its update."""
    w = make_replica()
    layers = layers_of(w.model.parameters, w.theta.numel())
    batches, samples = list[float](), list[float]()
    for _ in range(rounds + 1):
        began = time.process_time()
        for _ in range(STRETCH):
            w.step()
        batches.append((time.process_time() - began) / STRETCH)
        gradient, update = torch.randn_like(w.theta), torch.randn_like(w.theta)
        began = time.process_time()
        measure(gradient, layers)
        measure(update, layers)
        samples.append(time.process_time() - began)
    return {
        "elements": w.theta.numel(),
        "batch_ms": common.spread(batches[1:], 1e3),
        "sample_ms": common.spread(samples[1:], 1e3),
        "share": common.spread([sample / EVERY / batch for sample, batch in zip(samples[1:], batches[1:], strict=True)]),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.update_histograms", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="stretches of mini-batches, each followed by one measured push")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the table")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    result = common.about(rounds=args.rounds, batch=BATCH, every=EVERY) | measure_costs(args.rounds) | {"aim": AIM}
    if args.json:
        print(json.dumps(result))
        return 0
    header = ("elements", "mini-batch, CPU ms", "a sample, CPU ms", f"share, every: {EVERY}", "aim")
    row = (
        f"{result['elements']:,}",
        common.said(result["batch_ms"]),
        common.said(result["sample_ms"]),
        common.said(result["share"], 4),
        f"<= {AIM}",
    )
    print("\n".join([*common.head(result), *common.table(header, [row])]))
    return 0


if __name__ == "__main__":
    raise SystemExit(common.interruptible(main))

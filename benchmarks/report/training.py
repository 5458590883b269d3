"""A run that trains the perceptron on MNIST, on a simulated cluster in virtual time.

The unit of time is a mini-batch of a worker of speed 1. The last 5,000 training images are held out: learning rates are chosen
by them, never by the test images.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from benchmarks.report import mnist
from gradstream import sim
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.sim.running import Diverged
from gradstream.sim.times.costs import Costs
from gradstream.spec import JobSpec

HELD_OUT = 5000
WATCHED = 2000  # test images by which a run is followed; the result is that of all 10,000
SPARE = 8  # with shared data: how many times its even share the fastest worker may take


def train(
    *,
    data: str,
    job: Mapping[str, Any],
    workers: int,
    samples: int,
    speeds: str,
    latency: float,
    apply: float,
    watch_every: int,
    shared: bool = False,
) -> dict[str, Any]:
    """`job`: its strategy and whatever else of a job file. `samples` in all: an even share for each worker, or, if `shared`,
    until all together have trained them, so that fast workers train more.

    A loss that is not finite ends a run; its center is scored as it is then."""
    epochs = samples / len(part(data, "train"))
    spec = JobSpec.model_validate(
        {
            "name": "report",
            "workload": {"entrypoint": "benchmarks.report.mnist:Mlp", "args": {"path": data}},
            "stop": {"epochs": SPARE * epochs if shared else epochs},
            **job,
            "roles": {**job.get("roles", {}), "worker": {"count": workers}},
        }
    )
    curve: list[tuple[int, float, float]] = []
    scorer = Scorer(spec, data)

    def watch(view: Any) -> bool:
        if not curve or view.samples > curve[-1][0]:
            curve.append((view.samples, round(view.time, 3), scorer.accuracy(view.center(), "watched")))
        return shared and view.samples >= samples

    costs = Costs(speeds=speeds, latency=latency, apply=apply)
    diverged = False
    try:
        run = sim.run(spec, lambda spec, rank: problem(spec, rank, data), costs=costs, watch=watch, watch_every=watch_every)
    except Diverged as error:
        run, diverged = error.result, True
    outcomes = [decision.outcome for decision in run.decisions]
    return {
        "diverged": diverged,
        "accuracy": scorer.accuracy(run.center, "eval"),
        "held_out": scorer.accuracy(run.center, "held out"),
        "curve": curve,
        "time": round(run.time, 3),
        "samples": run.samples,
        "version": run.version,
        "pushes": len(outcomes),
        "dropped": outcomes.count("dropped"),
        "staleness": round(sum(run.staleness) / max(1, len(run.staleness)), 4),
        "bytes": sum(run.bytes),
        "waited": round(sum(run.wait.values()), 3),
        "trained": {str(rank): account.pushed for rank, account in run.ledger.items()},
    }


def problem(spec: JobSpec, rank: int, data: str) -> ModelProblem:
    code = UserCode(spec)
    return ModelProblem(code, FlatModel(code.model(), torch.device("cpu")), Batches(part(data, "train"), spec, rank))


@cache
def part(data: str, name: str) -> TensorDataset:
    """train, held out: of the training images. watched, eval: of the test images."""
    images, labels = mnist.load(data, "train" if name in ("train", "held out") else "eval").tensors
    if name == "watched":
        chosen = torch.randperm(len(labels), generator=torch.Generator().manual_seed(1))[:WATCHED]
        return TensorDataset(images[chosen], labels[chosen])
    where = {"train": slice(None, -HELD_OUT), "held out": slice(-HELD_OUT, None), "eval": slice(None)}[name]
    return TensorDataset(images[where], labels[where])


class Scorer:
    """The accuracy of a center."""

    def __init__(self, spec: JobSpec, data: str) -> None:
        self._flat = FlatModel(UserCode(spec).model(), torch.device("cpu"))
        self._data = data

    @torch.no_grad()
    def accuracy(self, center: Tensor, name: str) -> float:
        """As a share of the images of this part."""
        self._flat.theta.copy_(center)
        images, labels = part(self._data, name).tensors
        right = 0
        for start in range(0, len(labels), 1000):
            some = slice(start, start + 1000)
            right += int((self._flat.model(images[some]).argmax(-1) == labels[some]).sum())
        return right / len(labels)

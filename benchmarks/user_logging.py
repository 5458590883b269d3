"""Costs of ten logged scalars for each mini-batch of the mlp: `python -m benchmarks.user_logging`.

A worker's own problem, report and reporter train the 784-500-300-10 network on drawn images, batch 128, on one thread, and
report to a Redis of their own. Stretches of mini-batches with ten `self.log` take turns with stretches without. All times are
processor times. Those of a whole stretch count the reporter's thread, too, and hold the noise of the machine. So the calls are
timed by themselves."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from benchmarks import common
from benchmarks.peers import work
from gradstream import Workload, metrics
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.process.order import PlaneAccess
from gradstream.spec import JobSpec
from gradstream.wire import plane
from gradstream.wire.redis.client import connect
from gradstream.wire.telemetry.reporter import Reporter
from worker_node.logged_report import LoggedReport

AIM = 0.01
SCALARS, BATCH = 10, 128
NAMES = [(f"tensor-{number}", f"number-{number}") for number in range(SCALARS // 2)]
STRETCH = 25
"""Mini-batches of a stretch."""


class Logging(Workload):
    """The mlp of the benchmarks of other systems. `logs` switches its ten calls on."""

    logs = False
    seconds = 0.0

    def model(self) -> nn.Module:
        return work.model("mlp")

    def dataset(self, split: str) -> TensorDataset:
        drawn = torch.Generator().manual_seed(3)
        return TensorDataset(torch.rand(64 * BATCH, 784, generator=drawn), torch.randint(10, (64 * BATCH,), generator=drawn))

    def loss(self, model: nn.Module, batch: list[Tensor]) -> Tensor:
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        began = time.thread_time()
        if self.logs:
            for of_tensor, of_number in NAMES:
                self.log(of_tensor, loss)
                self.log(of_number, 0.5)
        type(self).seconds += time.thread_time() - began
        return loss


class Training:
    """A worker without servers: gradients, and reports of each mini-batch."""

    def __init__(self, reporter: Reporter) -> None:
        spec = JobSpec.model_validate(
            {
                "name": "user-logging",
                "workload": {"entrypoint": f"{Logging.__module__}:Logging"},
                "strategy": {"name": "sync"},
                "batch_size": BATCH,
                "stop": {"steps": 10**6},
                "roles": {"worker": {"count": 1}},
            }
        )
        code = UserCode(spec)
        batches = Batches(code.dataset("train"), spec, 0, code.batching)
        self._problem = ModelProblem(code, FlatModel(code.model(), torch.device("cpu")), batches)
        self._reporter, self._logged = reporter, LoggedReport(reporter, self._problem.logged, 0)
        self._t = 0

    def stretch(self, logs: bool) -> dict[str, float]:
        """Train a stretch. Returns its processor seconds, and the seconds of all that logging adds to the worker's thread."""
        Logging.logs, Logging.seconds = logs, 0.0
        reporting = 0.0
        before = time.process_time()
        for _ in range(STRETCH):
            _, loss, _ = self._problem.gradient(self._t)
            place = {"step": self._t, "samples": self._t * BATCH, "version": self._t}
            self._reporter.point(metrics.LOSS, loss, rank=0, **place)
            began = time.thread_time()
            if self._logged.is_due():
                self._logged.send(**place)
            reporting += time.thread_time() - began
            self._t += 1
        return {"cpu": time.process_time() - before, "logging": Logging.seconds + reporting}


def measure(rounds: int) -> dict[str, Any]:
    with _reporting() as reporter:
        training = Training(reporter)
        training.stretch(logs=True)
        pairs = [(training.stretch(logs=True), training.stretch(logs=False)) for _ in range(rounds)]
    return {
        "batch_ms": common.spread([without["cpu"] for _, without in pairs], 1e3 / STRETCH),
        "logging_us": common.spread([logged["logging"] - without["logging"] for logged, without in pairs], 1e6 / STRETCH),
        "share": common.spread([(logged["logging"] - without["logging"]) / without["cpu"] for logged, without in pairs]),
        "cpu_ratio": common.spread([logged["cpu"] / without["cpu"] for logged, without in pairs]),
    }


@contextmanager
def _reporting() -> Iterator[Reporter]:
    """A reporter whose batches are read as a controller does, but stored nowhere."""
    with tempfile.TemporaryDirectory() as folder, common.redis_on("unix", Path(folder)) as redis:
        plane.create(connect(redis.url, password=redis.password), "benchmark", password=common.PASSWORD)
        reporter = Reporter(
            PlaneAccess(url=redis.url, user=plane.account("benchmark"), password=common.PASSWORD), "benchmark", "worker-0.0"
        )
        try:
            yield reporter
        finally:
            reporter.close()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.user_logging", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="stretches with and without logging")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the table")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    found = measure(args.rounds)
    result = common.about(rounds=args.rounds, scalars=SCALARS, batch=BATCH) | found | {"aim": AIM}
    if args.json:
        print(json.dumps(result))
        return 0
    row = (
        common.said(found["batch_ms"]),
        common.said(found["logging_us"], 1),
        common.said(found["share"], 4),
        f"<= {AIM}",
        common.said(found["cpu_ratio"], 3),
    )
    header = ("mini-batch, CPU ms", "ten scalars, us", "share of a mini-batch", "aim", "CPU with / without")
    print("\n".join([*common.head(result), *common.table(header, [row])]))
    return 0


if __name__ == "__main__":
    raise SystemExit(common.interruptible(main))

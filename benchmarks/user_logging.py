"""Costs of logged scalars and media of the mlp: `python -m benchmarks.user_logging`.

A worker's own problem, report and reporter train the 784-500-300-10 network on drawn images, batch 128, on one thread, and
report to a Redis of their own. Stretches of mini-batches that log take turns with stretches that do not: ten `self.log` in each
mini-batch; then a histogram of the 392,000 weights of a layer in each 10th and an image of 64 x 64 in each 100th, without a limit
of their rate, written into a folder. All times are processor times. Those of a whole stretch count the threads that report and
encode, too, and hold the noise of the machine. So the calls are timed by themselves."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

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
from gradstream.process.store import Store
from gradstream.spec import JobSpec
from gradstream.user_logging.files import write_item
from gradstream.user_logging.items import LoggedItem
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.posted import MediaOutcome
from gradstream.wire import plane
from gradstream.wire.redis.client import connect
from gradstream.wire.telemetry.reporter import Reporter
from worker_node.logged_report import LoggedReport
from worker_node.senders import background
from worker_node.senders.media import MediaSender

AIM = 0.01
SCALARS, BATCH = 10, 128
NAMES = [(f"tensor-{number}", f"number-{number}") for number in range(SCALARS // 2)]
STRETCH = 25
"""Mini-batches of a stretch."""
_SENT_WITHIN = 3 * background.INTERVAL
"""Seconds after a stretch in which its media are encoded, and which take no processor time themselves."""
HISTOGRAM_EVERY, IMAGE_EVERY = 10, 100
"""Mini-batches between two of each. A stretch with media has as many as between two images."""


class Logging(Workload):
    """The mlp of the benchmarks of other systems. `logs` and `logs_media` switch its calls on."""

    logs = logs_media = False
    seconds, calls = 0.0, 0

    image = torch.rand(3, 64, 64)

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
        if self.logs_media:
            if self.calls % HISTOGRAM_EVERY == 0:
                self.log_histogram("weights", next(model.parameters()))
            if self.calls % IMAGE_EVERY == 0:
                self.log_image("first", self.image)
            type(self).calls += 1
        type(self).seconds += time.thread_time() - began
        return loss


class Training:
    """A worker without servers: gradients, and reports of each mini-batch."""

    def __init__(self, reporter: Reporter, folder: Path) -> None:
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
        media = LoggedMedia(lambda: 60.0 * self._t)  # a minute for each mini-batch, so that no limit drops an item
        code._workload._media = media
        self._media = MediaSender(cast(Store, _Folder(folder)), media, reporter, 0)
        self._t = 0

    def stretch(self, batches: int, *, logs: bool = False, logs_media: bool = False) -> dict[str, float]:
        """Train a stretch. Returns its processor seconds, and the seconds of all that logging adds to the worker's thread."""
        Logging.logs, Logging.logs_media, Logging.seconds, Logging.calls = logs, logs_media, 0.0, 0
        reporting = 0.0
        before = time.process_time()
        for _ in range(batches):
            _, loss, _ = self._problem.gradient(self._t)
            place = {"step": self._t, "samples": self._t * BATCH, "version": self._t}
            self._reporter.point(metrics.LOSS, loss, rank=0, **place)
            began = time.thread_time()
            if self._logged.is_due():
                self._logged.send(**place)
            self._media.hand_over(**place)
            reporting += time.thread_time() - began
            self._t += 1
        if logs_media:
            time.sleep(_SENT_WITHIN)
        return {"cpu": time.process_time() - before, "logging": Logging.seconds + reporting}


class _Folder:
    """A store that keeps media alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put_media(self, items: Sequence[LoggedItem]) -> MediaOutcome:
        for item in items:
            write_item(self._folder, item)
        return MediaOutcome()


def measure(rounds: int, media_rounds: int) -> dict[str, Any]:
    with _reporting() as reporter, tempfile.TemporaryDirectory() as folder:
        training = Training(reporter, Path(folder))
        training.stretch(STRETCH, logs=True)
        pairs = [(training.stretch(STRETCH, logs=True), training.stretch(STRETCH)) for _ in range(rounds)]
        training.stretch(IMAGE_EVERY, logs_media=True)
        with_media = [(training.stretch(IMAGE_EVERY, logs_media=True), training.stretch(IMAGE_EVERY)) for _ in range(media_rounds)]
    return _costs(pairs, STRETCH) | {"media": _costs(with_media, IMAGE_EVERY)}


def _costs(pairs: list[tuple[dict[str, float], dict[str, float]]], batches: int) -> dict[str, Any]:
    """Return costs for a mini-batch, from stretches with and without logging."""
    return {
        "batch_ms": common.spread([without["cpu"] for _, without in pairs], 1e3 / batches),
        "logging_us": common.spread([logged["logging"] - without["logging"] for logged, without in pairs], 1e6 / batches),
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
    parser.add_argument("--media-rounds", type=int, default=20, help="stretches with and without media")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the table")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    found = measure(args.rounds, args.media_rounds)
    result = common.about(rounds=args.rounds, scalars=SCALARS, batch=BATCH) | found | {"aim": AIM}
    if args.json:
        print(json.dumps(result))
        return 0
    rows = [_row("ten scalars", found), _row(f"histogram / {HISTOGRAM_EVERY}, image / {IMAGE_EVERY}", found["media"])]
    header = ("logged", "mini-batch, CPU ms", "calls, us", "share of a mini-batch", "aim", "CPU with / without")
    print("\n".join([*common.head(result), *common.table(header, rows)]))
    return 0


def _row(name: str, costs: dict[str, Any]) -> tuple[str, ...]:
    return (
        name,
        common.said(costs["batch_ms"]),
        common.said(costs["logging_us"], 1),
        common.said(costs["share"], 4),
        f"<= {AIM}",
        common.said(costs["cpu_ratio"], 3),
    )


if __name__ == "__main__":
    raise SystemExit(common.interruptible(main))

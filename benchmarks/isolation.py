"""The cost of isolation: `python -m benchmarks.isolation`, as root or where user namespaces are allowed.

Two platforms run side by side, one that isolates its jobs and one that does not. The same jobs run on both in turn: five processes
from the agent's order to the first step, and two workers that exchange a large model with two servers over shared memory."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import common, startup
from benchmarks.common import spread, table
from benchmarks.running import WITHIN, Failed, running
from gradstream.client import Client
from gradstream.spec import JobSpec

LEVELS = ("none", "namespace")
SKIPPED, COUNTED = 20, 200
"""Mini-batches of a worker before those that are counted, and those."""
_ROWS = (("order to first step, s", "first_step_s", "start_ratio"), ("exchanges/s", "exchanges_per_s", "exchange_ratio"))
CODE = f'''\
"""A wide layer and tiny mini-batches: nearly all of the time is exchange."""

import time
from pathlib import Path
from uuid import uuid4

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


class Exchanging(Workload):
    classifies = False
    notes: str = ""
    _calls = 0

    def model(self):
        return nn.Linear(1000, 4000)

    def dataset(self, split):
        return TensorDataset(torch.rand(64, 1000))

    def evaluate(self, model, batch):
        return {{"loss": 0.0}}

    def loss(self, model, batch):
        self._calls += 1
        if self._calls == {SKIPPED}:
            self._began = time.monotonic()
        if self._calls == {SKIPPED + COUNTED}:
            Path(self.notes, uuid4().hex).write_text(str({COUNTED} / (time.monotonic() - self._began)))
        return model(batch[0]).mean()
'''


def exchange(client: Client, code: Path, notes: Path) -> float:
    """Exchanges per second, of all workers."""
    spec = JobSpec.model_validate(
        {
            "name": "exchange",
            "workload": {"entrypoint": "exchanging:Exchanging", "args": {"notes": str(notes)}},
            "batch_size": 1,
            "strategy": {"name": "async", "lr": 1e-6},
            "roles": {"worker": {"count": 2, "device": "cpu"}, "server": {"count": 2}},
            "stop": {"steps": 2 * (SKIPPED + COUNTED + 10)},
        }
    )
    ended = client.wait(client.submit(spec, code=code).id, timeout=WITHIN)
    rates = [float(file.read_text()) for file in notes.iterdir()]
    if ended.status != "succeeded" or len(rates) != 2:
        raise Failed(f"the job ended as {ended.status}: {ended.message}")
    return sum(rates)


def measure(folder: Path, repeats: int) -> dict[str, Any]:
    folder.chmod(0o711)
    code, notes = folder / "code", folder / "notes"
    for place in (code, notes):
        place.mkdir()
        place.chmod(0o777)  # isolated jobs may have an account of their own
    (code / "noting.py").write_text(startup.CODE)
    (code / "exchanging.py").write_text(CODE)
    starts: dict[str, list[float]] = {level: [] for level in LEVELS}
    rates: dict[str, list[float]] = {level: [] for level in LEVELS}
    homes = {level: folder / level for level in LEVELS}
    for home in homes.values():
        home.mkdir()
    with _platform(homes["none"], notes, "none") as plain, _platform(homes["namespace"], notes, "namespace") as apart:
        platforms = {"none": plain, "namespace": apart}
        for number in range(repeats + 1):
            for level in LEVELS if number % 2 else reversed(LEVELS):
                with platforms[level].client() as client:
                    times = startup.submitted(platforms[level], client, code, notes)
                    rate = exchange(client, code, _own_folder(notes))
                if number:  # the first one fetches the bundle and fills the page cache
                    starts[level].append(times["first_step"] - times["ordered"])
                    rates[level].append(rate)
            print(f"{number}: starts {starts}, exchanges {rates}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return {
        "first_step_s": {level: spread(starts[level]) for level in LEVELS},
        "exchanges_per_s": {level: spread(rates[level]) for level in LEVELS},
        "start_ratio": _ratio(starts),
        "exchange_ratio": _ratio(rates),
        "load": os.getloadavg(),
    }


def _platform(home: Path, notes: Path, level: str) -> Any:
    return running(home, "--isolation", level, "--writable", str(notes))


def _own_folder(notes: Path) -> Path:
    folder = notes / f"exchange-{time.monotonic_ns()}"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def _ratio(found: dict[str, list[float]]) -> float:
    """Median of the ratios of neighbours in time, isolated to plain."""
    return statistics.median(apart / plain for plain, apart in zip(found["none"], found["namespace"], strict=True))


def markdown(result: dict[str, Any]) -> str:
    rows = []
    for title, what, ratio in _ROWS:
        rows.append([title, *(common.said(result[what][level]) for level in LEVELS), f"{result[ratio]:.2f}"])
    return "\n".join(table(["", *LEVELS, "ratio"], rows))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.isolation", description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        result = measure(Path(name), args.repeats)
    sys.stdout.write((json.dumps(result) if args.json else markdown(result)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(common.interruptible(main))

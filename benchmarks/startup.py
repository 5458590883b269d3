"""From a job to its first training step: `python -m benchmarks.startup`.

On a platform of its own, as `gradstream up` starts it: cold, when nothing runs yet; and with a warm agent, many times, in turn
with what is to be beaten: `import torch` in a fresh process. And `gradstream train`, which starts everything each time. The user's
code notes when it is imported and called; the platform's events, process rows and logs say the rest. A first step is a gradient
that has been computed; what follows, until its update has come back, is given beside it."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import yaml

from benchmarks import common
from benchmarks.common import said, spread, table
from benchmarks.running import GRADSTREAM, WITHIN, Failed, Running, running
from gradstream.api.jobs import Job
from gradstream.client import Client
from gradstream.spec import JobSpec

WORKERS, STEPS = 2, 20
CODE = '''\
"""A small perceptron on made data that notes when what is called."""

import json
import os
import time
from pathlib import Path
from uuid import uuid4

IMPORTED = time.time()
ID = uuid4().hex  # not the pid: each process may have a namespace of its own

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

from gradstream import Workload


class Noting(Workload):
    notes: str = ""
    _calls = 0

    def model(self):
        self._note(model=time.time(), imported=IMPORTED, forked=_forked())
        return nn.Sequential(nn.Linear(784, 300), nn.ReLU(), nn.Linear(300, 10))

    def dataset(self, split):
        return TensorDataset(torch.rand(4096, 784), torch.randint(10, (4096,)))

    def loss(self, model, batch):
        if model.training:  # the evaluator takes losses, too
            self._calls += 1
            if self._calls in (1, 2):
                self._note(**{("loss", "second")[self._calls - 1]: time.time()})
        return cross_entropy(model(batch[0]), batch[1])

    def _note(self, **times):
        with Path(self.notes, ID).open("a") as file:
            file.write(json.dumps(times) + "\\n")


def _forked():
    """When this process began, to a hundredth of a second."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
'''
MILESTONES = {
    "accepted": "the API has it in its database",
    "placed": "the controller has given its processes places",
    "ordered": "the agent has been told to start the first of them",
    "ordered_worker": "the agent starts the worker",
    "forked": "the zygote has forked the worker",
    "imported": "the worker has its own setting, and imports the user's code",
    "model": "the user's model is asked for",
    "loss": "the worker has joined and got theta_0; its first mini-batch is there",
    "first_step": "the first gradient has been computed, and its loss reported",
    "second": "the update was applied, and the next mini-batch begins",
}
"""In order; the time before each is the time since the one before it."""


def job(notes: Path, name: str = "startup") -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": name,
            "workload": {"entrypoint": "noting:Noting", "args": {"notes": str(notes)}},
            "batch_size": 64,
            "strategy": {"name": "async", "lr": 0.01},
            "roles": {"worker": {"count": WORKERS, "device": "cpu"}},
            "stop": {"steps": STEPS},
        }
    )


def first_of(notes: Path) -> dict[str, float]:
    """What the worker noted that came first to its first mini-batch; empty before."""
    told = []
    for file in notes.iterdir():
        times: dict[str, float] = {}
        for line in file.read_text().splitlines():
            times |= json.loads(line)
        if "second" in times:
            told.append(times)
    return min(told, key=lambda times: times["loss"]) if len(told) == WORKERS else {}


def submitted(platform: Running, client: Client, code: Path, folder: Path) -> dict[str, float]:
    """Run a job; the milestones as times of the clock, with `asked`, when the request was made."""
    notes = folder / f"notes-{time.monotonic_ns()}"
    notes.mkdir()
    notes.chmod(0o777)  # isolated jobs may have an account of their own
    asked = time.time()
    made = client.submit(job(notes), code=code)
    answered = time.time()
    ended = client.wait(made.id, timeout=WITHIN)
    if ended.status != "succeeded":
        raise Failed(f"the job ended as {ended.status}: {ended.message}")
    times = {"asked": asked, "answered": answered, **first_of(notes), "ended": time.time()}
    return times | _told(platform, client, ended)


def _told(platform: Running, client: Client, made: Job) -> dict[str, float]:
    events = {event.kind: event.time.timestamp() for event in reversed(client.events(made.id))}
    starting = [_time(line) for line in platform.said_by_agent(str(made.id)) if line["event"] == "starting"]
    workers = [
        _time(line)
        for line in platform.said_by_agent(str(made.id))
        if line["event"] == "starting" and line["label"].startswith("worker")
    ]
    points = [point for batch in client.metrics(made.id, names=["train/loss"]) for point in batch.points]
    return {
        "accepted": made.created_at.timestamp(),
        "placed": events["attempt"],
        "ordered": min(starting),
        "ordered_worker": min(workers),
        "first_step": min(point[5] for point in points),
    }


def _time(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["timestamp"]).timestamp()


def import_torch() -> float:
    """Seconds in a fresh process."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True, timeout=WITHIN, stdin=subprocess.DEVNULL)
    return time.perf_counter() - began


def train(code: Path, folder: Path) -> dict[str, float]:
    """`gradstream train`, from the command to its first step and to its end."""
    notes = folder / "notes"
    notes.mkdir(parents=True)
    file = code / "job.yaml"
    file.write_text(yaml.safe_dump(job(notes).model_dump(mode="json", exclude_none=True)))
    with (folder / "train.log").open("wb") as log:
        began = time.time()
        _run([*GRADSTREAM, "train", str(file), "--out", str(folder / "out")], log)
    found = first_of(notes)
    return {name: found[name] - began for name in ("forked", "imported", "loss", "second")} | {"ended": time.time() - began}


def _run(command: list[str], log: IO[bytes]) -> None:
    subprocess.run(command, check=True, stdout=log, stderr=log, stdin=subprocess.DEVNULL, timeout=WITHIN)


def measure(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    code = folder / "code"
    code.mkdir()
    (code / "noting.py").write_text(CODE)
    import_torch()  # so that its files are in memory
    cold, trains, warm, torch_seconds = [], [], [], []
    for number in range(args.cold):
        home = folder / f"cold-{number}"
        home.mkdir()
        with running(home, "--writable", str(home)) as platform, platform.client() as client:
            times = submitted(platform, client, code, home)
            cold.append(
                {
                    "ready": platform.ready - platform.began,
                    "first_step": times["first_step"] - platform.began,
                    "after_ready": times["first_step"] - platform.ready,
                }
            )
        trains.append(train(code, folder / f"train-{number}"))
        print(f"cold {number + 1}: {cold[-1]}; train: {trains[-1]}", file=sys.stderr)
    home = folder / "warm"
    home.mkdir()
    with running(home, "--writable", str(home)) as platform, platform.client() as client:
        platform.until_warm()
        submitted(platform, client, code, home)  # the bundle and the page cache; nobody's first job of the day
        for number in range(args.repeats):
            torch_seconds.append(import_torch())
            warm.append(submitted(platform, client, code, home))
            print(
                f"warm {number + 1}: {warm[-1]['first_step'] - warm[-1]['accepted']:.3f} s, torch {torch_seconds[-1]:.3f} s",
                file=sys.stderr,
            )
    return {"cold": _columns(cold), "train": _columns(trains), **_warm(warm, torch_seconds)}


def _warm(warm: list[dict[str, float]], torch_seconds: list[float]) -> dict[str, Any]:
    steps = [times["first_step"] - times["accepted"] for times in warm]
    names = list(MILESTONES)
    parts = {b: spread([max(0.0, times[b] - times[a]) for times in warm]) for a, b in pairwise(names)}
    parts = {"accepted": spread([times["accepted"] - times["asked"] for times in warm])} | parts
    ratios = [step / torch for step, torch in zip(steps, torch_seconds, strict=True)]
    ratio = statistics.median(steps) / statistics.median(torch_seconds)
    return {
        "warm": {
            "first_step": spread(steps),
            "from_request": spread([times["first_step"] - times["asked"] for times in warm]),
            "parts": parts,
            "whole_job": spread([times["ended"] - times["asked"] for times in warm]),
        },
        "import_torch": spread(torch_seconds),
        "to_reach": {
            "work": "warm agent: job accepted by the API -> first training step",
            "against": "import torch in a fresh process",
            "wanted_below": 1.0,
            "got": ratio,
            "least": min(ratios),
            "most": max(ratios),
            "reached": ratio < 1.0,
        },
    }


def _columns(rows: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    return {name: spread([row[name] for row in rows]) for name in rows[0]} if rows else {}


def markdown(result: dict[str, Any]) -> str:
    goal, warm = result["to_reach"], result["warm"]
    lines = [
        *common.head(result),
        *table(
            ["with a warm agent", "s, median (9 of 10)"],
            [
                ["job accepted -> first training step", said(warm["first_step"], 3)],
                ["`import torch` in a fresh process", said(result["import_torch"], 3)],
                ["request made -> first training step", said(warm["from_request"], 3)],
                [f"request made -> the end of a job of {STEPS} steps is known", said(warm["whole_job"], 3)],
            ],
        ),
        "",
        f"Ratio {goal['got']:.2f} ({goal['least']:.2f}-{goal['most']:.2f}), wanted < {goal['wanted_below']:g}.",
        "",
        *table(
            ["until", "ms since the line before"],
            [
                [MILESTONES[name], said({key: 1e3 * value for key, value in part.items()}, 0)]
                for name, part in warm["parts"].items()
            ],
        ),
    ]
    if result["cold"]:
        cold, alone = result["cold"], result["train"]
        lines += [
            "",
            *table(
                ["cold", "s, median (9 of 10)"],
                [
                    ["`gradstream up` with a new folder -> ready", said(cold["ready"])],
                    [
                        "`gradstream up` with a new folder -> first training step of a job submitted at once",
                        said(cold["first_step"]),
                    ],
                    ["`gradstream train` -> the first process is forked", said(alone["forked"])],
                    ["`gradstream train` -> first mini-batch", said(alone["loss"])],
                    [f"`gradstream train` -> its end, after {STEPS} steps", said(alone["ended"])],
                ],
            ),
        ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="jobs on a warm agent")
    parser.add_argument("--cold", type=int, default=2, help="platforms, and runs of `gradstream train`, from nothing")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="gs-startup-") as name:
        result = common.about(repeats=args.repeats, cold=args.cold) | measure(Path(name), args)
    print(json.dumps(result, indent=1) if args.json else markdown(result))
    return 0


if __name__ == "__main__":
    sys.exit(common.interruptible(main))

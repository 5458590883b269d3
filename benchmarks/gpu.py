"""The limits of one GPU, and how near jobs come to them: `python -m benchmarks.gpu`. Without a GPU it says so, and ends with 0.

    exchange    80 MB between a worker that computes nothing and a server (gather, push, apply, center back): both on the GPU, with
                two copies and one addition there; the server on the CPU, with one copy each way between the GPU and pinned memory
    training    two workers and a server on the GPU, with Hogwild over CUDA IPC and with DDP over gloo; one worker with plain
                PyTorch; the gain by bf16 and by `compile`, with the same gain of plain PyTorch

All take turns, in each round. Several GPUs are needed for NCCL, which takes no two processes on one. `--device cpu` runs all of it
on the CPU, to try it out: then the figures say nothing of a GPU."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks import common
from benchmarks.common import table
from benchmarks.idle import Place, Unfinished, Work
from benchmarks.peers import launch, work
from benchmarks.peers.systems import SYSTEMS
from benchmarks.report import mnist
from gradstream.process.order import Role
from gradstream.process.zygote.zygote import Zygote

NBYTES = 80_000_000
ITEMS = ("mlp", "cnn", "wide")
_ALONE = "gradstream-adag12-alone"


class Figure(NamedTuple):
    """A ratio that is asked for."""

    name: str
    ours: str
    peer: str
    wanted: float
    at_most: bool = False
    """The ratio is one of times, and shall be at most `wanted`; else one of rates, and shall be at least that."""

    def reached(self, got: float) -> bool:
        return got <= self.wanted if self.at_most else got >= self.wanted


EXCHANGES = [
    Figure("exchange of 80 MB on one GPU, to two copies and an addition", "on the GPU", "two copies and an addition", 1.5, True),
    Figure("exchange of 80 MB with a server on the CPU, to a copy each way", "through the host", "a copy each way", 1.35, True),
]
TRAININGS = [
    *(Figure(f"async on {item}, to Hogwild", f"gradstream-async {item}", f"hogwild {item}", 0.85) for item in ("cnn", "wide")),
    *(Figure(f"async on {item}, to DDP over gloo", f"gradstream-async {item}", f"ddp {item}", 1.0) for item in ITEMS),
    *(Figure(f"adag 12 on {item}, one worker, to plain PyTorch", f"{_ALONE} {item}", f"single {item}", 0.95) for item in ITEMS),
]
GAINS = ("bf16", "compiled")
_GAIN_WANTED = 0.9
_COMPILES_WITHIN = 20.0
"""Seconds that a compiled model takes from its first step on, until it compiles nothing more."""


# ---- limits ----------------------------------------------------------------------------------------------------------------


def on_device(device: torch.device, seconds: float) -> list[float]:
    """Seconds of two copies and one addition in place on the device."""
    a, b, c = (torch.ones(NBYTES // 4, device=device) for _ in range(3))

    def once() -> None:
        b.copy_(a)
        c.add_(b, alpha=-1e-3)
        a.copy_(c)

    return _timed(once, device, seconds)


def over_the_bus(device: torch.device, seconds: float) -> list[float]:
    """Seconds of a copy from the device into pinned memory, and of one back."""
    there, here = torch.ones(NBYTES // 4, device=device), torch.ones(NBYTES // 4, pin_memory=device.type == "cuda")

    def once() -> None:
        here.copy_(there, non_blocking=True)
        there.copy_(here, non_blocking=True)

    return _timed(once, device, seconds)


def _timed(once: Callable[[], None], device: torch.device, seconds: float) -> list[float]:
    times: list[float] = []
    until = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < until:
        began = time.perf_counter()
        once()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - began)
    return times[2:]


# ---- measuring -------------------------------------------------------------------------------------------------------------


def exchanges(rounds: int, seconds: float, device: torch.device) -> dict[str, float]:
    """Median seconds of each side of `EXCHANGES`."""
    times: dict[str, list[float]] = defaultdict(list)
    sides: dict[str, frozenset[Role]] = {"on the GPU": frozenset({"worker", "server"}), "through the host": frozenset({"worker"})}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gs-gpu-")))
        zygote = Zygote()
        stack.callback(zygote.close)
        zygote.start()
        place = Place(stack.enter_context(common.redis_on("unix", folder)), folder, zygote)
        for _ in range(rounds):
            times["two copies and an addition"] += on_device(device, seconds)
            times["a copy each way"] += over_the_bus(device, seconds)
            for name, roles in sides.items():
                gpus = roles if device.type == "cuda" else frozenset[Role]()
                try:
                    found = place.exchange(Work(NBYTES, shared=True, gpus=gpus, seconds=seconds))
                except Unfinished as error:
                    _note(f"{name}: {error}")
                    continue
                assert found.closes, "each push was applied once"
                times[name] += found.times
    medians = {name: statistics.median(values) for name, values in times.items()}
    _note("; ".join(f"{name}: {1e3 * median:.2f} ms" for name, median in medians.items()))
    return medians


def trainings(args: argparse.Namespace, items: list[str]) -> dict[str, float]:
    """Median samples per second of each side, of those that could be measured."""
    rates: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="gs-gpu-data-") as name:
        work.prepare(args.mnist, Path(name))
        for _ in range(args.rounds):
            for side in _sides(items):
                system, _, item = side.partition(" ")
                settle = args.settle + (_COMPILES_WITHIN if system.endswith("compiled") else 0)
                try:
                    found = launch.run(SYSTEMS[system], item, Path(name), settle=settle, window=args.window, device=args.device)
                    rates[side].append(found.samples_per_second)
                    _note(f"{side}: {found.samples_per_second:.0f} samples/s")
                except (launch.Absent, launch.Failed) as error:
                    _note(f"{side}: {error}")
    return {side: statistics.median(values) for side, values in rates.items()}


def _note(text: str) -> None:
    """Say what was measured at once: the whole takes long, and the figures come at its end."""
    print(text, file=sys.stderr, flush=True)


def _sides(items: list[str]) -> Iterator[str]:
    for item in items:
        systems = ["single", "hogwild", "ddp", "gradstream-async", _ALONE]
        for gain in GAINS:
            systems += [f"single-{gain}", f"{_ALONE}-{gain}"]
        yield from (f"{system} {item}" for system in systems)


def rows_of(times: dict[str, float], rates: dict[str, float], items: list[str]) -> list[dict[str, Any]]:
    """A row for each figure whose sides were measured."""
    found = [(figure, times[figure.ours] / times[figure.peer]) for figure in EXCHANGES if figure.ours in times]
    found += [(f, rates[f.ours] / rates[f.peer]) for f in TRAININGS if f.ours in rates and f.peer in rates]
    for gain in GAINS:
        for item in items:
            ours, plain = f"{_ALONE}-{gain} {item}", f"single-{gain} {item}"
            if {ours, plain, f"{_ALONE} {item}", f"single {item}"} <= rates.keys():
                got = (rates[ours] / rates[f"{_ALONE} {item}"]) / (rates[plain] / rates[f"single {item}"])
                found.append((Figure(f"gain by {gain} on {item}, to that of plain PyTorch", ours, plain, _GAIN_WANTED), got))
    return [{"figure": f.name, "got": got, "wanted": f.wanted, "at_most": f.at_most, "reached": f.reached(got)} for f, got in found]


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [
            row["figure"],
            f"{row['got']:.2f}",
            f"{'<=' if row['at_most'] else '>='} {row['wanted']:g}",
            "yes" if row["reached"] else "NO",
        ]
        for row in result["rows"]
    ]
    return "\n".join([f"{result['device']};", *common.head(result), *table(["figure", "ratio", "wanted", "reached"], rows)])


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    made.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: only to try this program out")
    made.add_argument("--mnist", metavar="PATH", default="", help=mnist.HELP)
    made.add_argument("--items", nargs="*", choices=ITEMS, default=list(ITEMS), help="to train; none: only exchanges")
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument("--seconds", type=float, default=0.5, help="of each exchange in each round")
    made.add_argument("--window", type=float, default=3.0, help="seconds that are measured of each training")
    made.add_argument("--settle", type=float, default=1.0, help="seconds from the first step of a training to its window")
    made.add_argument("--json", action="store_true")
    return made


def main(arguments: list[str] | None = None) -> int:
    args = parser().parse_args(arguments)
    if args.device == "cuda" and not torch.cuda.is_available():
        print("THIS MACHINE HAS NO CUDA DEVICE: nothing was measured. With one GPU this command measures all that it names.")
        return 0
    device = torch.device(args.device)
    times = exchanges(args.rounds, args.seconds, device)
    rates: dict[str, float] = {}
    try:
        rates = trainings(args, args.items) if args.items else {}
    except mnist.DataMissing as error:
        _note(f"only exchanges were measured: {error}")
    named = torch.cuda.get_device_name() if args.device == "cuda" else "the CPU, in the place of a GPU"
    result = common.about(rounds=args.rounds) | {"device": named, "rows": rows_of(times, rates, args.items)}
    print(json.dumps(result, indent=1) if args.json else markdown(result))
    return 0


if __name__ == "__main__":
    sys.exit(common.interruptible(main))

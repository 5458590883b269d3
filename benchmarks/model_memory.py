"""The memory that a model takes while it becomes a vector: `python -m benchmarks.model_memory`.

Builds models of some 400 MB as a job process does, each in a process of its own. *moved* is the way of jobs: the pages of a
parameter go back as its values are copied. *copied* leaves them to the allocator. Both print the kernel's peak, and the memory
that stays, over the size of the model, and the seconds that the parameters took. Rounds take both in turn."""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn

from gradstream.model import moving
from gradstream.model.flat_model import FlatModel
from gradstream.process import begin

SHAPES = {
    "6,000 layers of 64 kB": lambda: nn.Sequential(*(nn.Linear(128, 128) for _ in range(6000))),
    "40 layers of 10 MB": lambda: nn.Sequential(*(nn.Linear(1600, 1600) for _ in range(40))),
    "a table of 400 MB": lambda: nn.Sequential(nn.Embedding(1_000_000, 100), nn.Linear(100, 10)),
    "a transformer of 32 layers": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True), 32),
}
WAYS = ("copied", "moved")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("SHAPE", "WAY"), help="build one model in this process")
    given = parser.parse_args()
    if given.one:
        print(*build(*given.one))
        return
    for shape in SHAPES:
        found: dict[str, list[list[float]]] = {way: [] for way in WAYS}
        for _ in range(given.rounds):
            for way in WAYS:
                command = [sys.executable, "-m", "benchmarks.model_memory", "--one", shape, way]
                printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
                found[way].append([float(number) for number in printed.split()])
        for way in WAYS:
            peak, stays, seconds = (statistics.median(each) for each in zip(*found[way], strict=True))
            print(f"{shape:27} {way:7} peak {peak:5.2f} models  stays {stays:5.2f}  {seconds:6.3f} s", flush=True)


def build(shape: str, way: str) -> tuple[float, float, float]:
    torch.set_num_threads(1)
    begin._keep_freed_memory()
    if way == "copied":
        moving._use_count = None
    before = _bytes("VmRSS")
    model = SHAPES[shape]()
    began = time.perf_counter()
    size = FlatModel(model, torch.device("cpu")).theta.nbytes
    seconds = time.perf_counter() - began
    return (_bytes("VmHWM") - before) / size, (_bytes("VmRSS") - before) / size, seconds


def _bytes(key: str) -> int:
    found = re.search(rf"{key}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


if __name__ == "__main__":
    main()

"""From a job to its first training step, for a group and for single workers: `python -m benchmarks.group_startup`.

With a warm agent, a job of one group of four processes and a job of four workers run in turn. Both train the perceptron of
`benchmarks.startup`. A first step is a gradient that has been computed, by all processes of the group."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import common
from benchmarks.common import said, spread, table
from benchmarks.running import WITHIN, Failed, running
from benchmarks.startup import CODE, job
from gradstream.client import Client
from gradstream.spec import JobSpec

PROCESSES, WANTED = 4, 1.3
SHAPES: dict[str, dict[str, Any]] = {
    "four workers": {"count": PROCESSES},
    "replicate": {"count": 1, "group": {"replicate": PROCESSES}},
    "fsdp": {"count": 1, "group": {"fsdp": PROCESSES}},
    "tensor": {"count": 1, "group": {"tensor": PROCESSES}},
}


def shaped(notes: Path, shape: str) -> JobSpec:
    """Return the job of `benchmarks.startup` with workers of this shape."""
    plain = job(notes, shape.replace(" ", "-")).model_dump(mode="json", exclude_none=True)
    worker = {"device": "cpu", "threads": 1, **SHAPES[shape]}
    return JobSpec.model_validate(plain | {"strategy": {"name": "sync", "lr": 0.01}, "roles": {"worker": worker}})


def first_step(client: Client, code: Path, folder: Path, shape: str) -> float:
    """Return the seconds from the job's row in the database to its first loss. Raises: Failed."""
    notes = folder / "notes"
    notes.mkdir(exist_ok=True)
    notes.chmod(0o777)  # isolated jobs may have an account of their own
    ended = client.wait(client.submit(shaped(notes, shape), code=code).id, timeout=WITHIN)
    if ended.status != "succeeded":
        raise Failed(f"the job with {shape} ended as {ended.status}: {ended.message}")
    points = [point for batch in client.metrics(ended.id, names=["train/loss"]) for point in batch.points]
    return min(point[5] for point in points) - ended.created_at.timestamp()


def measure(folder: Path, repeats: int, shapes: list[str]) -> dict[str, Any]:
    code = folder / "code"
    code.mkdir()
    (code / "noting.py").write_text(CODE)
    seconds: dict[str, list[float]] = {shape: [] for shape in shapes}
    home = folder / "platform"
    home.mkdir()
    with running(home, "--writable", str(home)) as platform, platform.client() as client:
        platform.until_warm()
        for number in range(repeats + 1):
            for shape, found in seconds.items():
                took = first_step(client, code, home, shape)
                if number:  # the first round only fills the caches
                    found.append(took)
                    print(f"{shape}, round {number}: {took:.3f} s", file=sys.stderr)
    baseline = statistics.median(seconds[shapes[0]])
    return {
        "first_step": {shape: spread(found) for shape, found in seconds.items()},
        "ratio": {shape: statistics.median(found) / baseline for shape, found in seconds.items()},
    }


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [shape, said(found, 3), f"{result['ratio'][shape]:.2f}", "" if shape == next(iter(SHAPES)) else f"<= {WANTED:g}"]
        for shape, found in result["first_step"].items()
    ]
    return "\n".join(
        [
            *common.head(result),
            *table(["processes", "job accepted -> first step, s, median (9 of 10)", "x four workers", "wanted"], rows),
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.group_startup", description=__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="jobs of each shape")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="gs-group-startup-") as name:
        result = common.about(repeats=args.repeats) | measure(Path(name), args.repeats, list(SHAPES))
    print(json.dumps(result, indent=1) if args.json else markdown(result))
    return 0


if __name__ == "__main__":
    sys.exit(common.interruptible(main))

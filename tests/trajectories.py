"""Stored trajectories: every number of short runs of all strategies under all gates, to notice a change that nobody wanted.

    python -m tests.trajectories            say what differs
    python -m tests.trajectories --write    store what the code does now; do so on purpose, and say why in the commit

A file for each strategy in `tests/stored`. Floats are hexadecimal, so that they are compared bit for bit. They were the same with
AVX2 and AVX512; without a fused multiply-add, last bits differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch

from gradstream import sim
from gradstream.sim.toys import Quadratic
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES
from tests.unit.strategies.cases import CASES, as_id, spec

STORED = Path(__file__).parent / "stored"
EVENTS = 24
_RENAMED = (" buffered ", " deferred ")
"""An outcome as it was stored, and its name today: stored runs are not written anew for a word."""


class Slanted(Quadratic):
    """Three uncoupled curvatures and a minimum of each worker's own: no noise and no product of matrices, whose last bits differ
    between machines."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        start, curvature = torch.tensor([[1.0, -2.0, 0.5], [0.3, 1.7, 5.0]], dtype=torch.float64)
        slope = torch.tensor([0.1, 0.7, -1.3], dtype=torch.float64) * (rank + 1)
        super().__init__(spec, rank, start, curvature, slope)


def trajectory(name: str, gate: dict[str, Any]) -> dict[str, Any]:
    run = sim.run(spec(name, gate, steps=15), Slanted, events=EVENTS, schedule="random")
    return {
        "center": [value.hex() for value in run.center.tolist()],
        "version": run.version,
        "decisions": [f"{d.rank} {d.outcome} {d.staleness} {d.norm.hex()}" for d in run.decisions],
        "losses": {str(rank): [loss.hex() for loss in losses] for rank, losses in sorted(run.losses.items())},
    }


def trajectories(name: str) -> dict[str, Any]:
    return {as_id(gate): trajectory(name, gate) for of, gate in CASES if of == name}


def stored(name: str) -> dict[str, Any]:
    file = STORED / f"{name}.json"
    found: dict[str, Any] = json.loads(file.read_text().replace(*_RENAMED)) if file.exists() else {}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Stored trajectories of all strategies")
    parser.add_argument("--write", action="store_true", help="store what the code does now")
    write, changed = parser.parse_args().write, []
    for name in STRATEGIES:
        now = trajectories(name)
        if now != stored(name):
            changed.append(name)
            if write:
                STORED.mkdir(exist_ok=True)
                (STORED / f"{name}.json").write_text(json.dumps(now, indent=1) + "\n")
    sys.stdout.write(f"{'written' if write else 'differ'}: {', '.join(changed) or 'none'}\n")
    sys.exit(bool(changed) and not write)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

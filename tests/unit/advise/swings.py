"""Whether training settles, seen by running it: what the formulas are compared with."""

from __future__ import annotations

import math
from functools import partial

import torch

from gradstream import sim
from gradstream.sim.toys import Quadratic
from gradstream.spec import JobSpec
from gradstream.training.replica import LossNotFinite

LARGE = 1e12


class Parabola(Quadratic):
    """h x^2 / 2. Starts so near that squares of gradients are nothing."""

    def __init__(self, spec: JobSpec, rank: int, h: float) -> None:
        one = torch.ones(1, dtype=torch.float64)
        super().__init__(spec, rank, 1e-6 * one, h * one, torch.zeros_like(one))
        self.per_epoch = 3


def growth(spec: JobSpec, curvature: float, events: int) -> float:
    """How much larger the swings of worker 0 are in the last third than in the one before; above 1: it diverges."""
    try:
        run = sim.run(spec, partial(Parabola, h=curvature), events=events)
    except LossNotFinite:
        return math.inf
    seen = [math.sqrt(2 * loss) for loss in run.losses[0]]
    if max(seen) > LARGE:
        return math.inf
    part = len(seen) // 3
    last, middle = max(seen[-part:]), max(seen[part : 2 * part])
    return last / middle if middle else 0.0

"""When workers are lost, come back, and come late, in virtual time. All of it follows from the seed."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any


class Incarnations:
    def __init__(self, workers: int, seed: int, mtbf: float | None, down: float | None, joins: Mapping[int, float]) -> None:
        """`mtbf`: mean time until an incarnation ends, exponential; None: no worker is lost. `down`: time until a lost rank's
        next incarnation; None: it never comes. `joins`: when ranks come that are not there from the beginning.

        Raises: ValueError."""
        if mtbf is not None and not mtbf > 0:
            raise ValueError("mtbf must be above 0: the mean virtual time that a worker lives")
        if down is not None and not down >= 0:
            raise ValueError("down must be 0 or more: the virtual time until a lost worker is back")
        if unknown := sorted(rank for rank in joins if not 0 <= rank < workers):
            raise ValueError(f"joins: there is no worker {unknown[0]}; ranks go from 0 to {workers - 1}")
        if any(not 0 < at < math.inf for at in joins.values()):
            raise ValueError("joins: times must be above 0")
        if len(joins) >= workers:
            raise ValueError("joins: one worker at least must be there from the beginning")
        self._mtbf, self._down = mtbf, down
        # the name of the stream decides the bits of runs: it stays what it was
        self._random = [random.Random(f"{seed}/{rank}/lives") for rank in range(workers)]
        self.absent: dict[int, float] = dict(joins)
        """Ranks that are not there, and when they come; infinity: never."""
        self.ends: dict[int, float] = {}
        """Time of each present rank's loss."""

    @property
    def change(self) -> bool:
        return self._mtbf is not None or bool(self.absent)

    def begins(self, rank: int, now: float) -> None:
        self.absent.pop(rank, None)
        if self._mtbf is not None:
            self.ends[rank] = now + self._random[rank].expovariate(1 / self._mtbf)

    def lost(self, rank: int, now: float) -> None:
        self.ends.pop(rank, None)
        self.absent[rank] = math.inf if self._down is None else now + self._down

    def state(self) -> dict[str, Any]:
        random = [generator.getstate() for generator in self._random]
        return {"absent": dict(self.absent), "ends": dict(self.ends), "random": random}

    def load(self, state: dict[str, Any]) -> None:
        self.absent, self.ends = dict(state["absent"]), dict(state["ends"])
        for generator, at in zip(self._random, state["random"], strict=True):
            generator.setstate(at)

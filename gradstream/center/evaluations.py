"""Evaluations by samples: the log decides which centers are evaluated, and not the evaluator's clock.

A shard keeps a copy of its slice when the center has reached a multiple of `evaluate.every`; evaluators get these copies one after
the other. All shards read the same log, so they keep the same versions, and under bsp the same bits on every machine.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import torch

from gradstream.center.center import Center
from gradstream.center.entries import Buffers, Payload

HOLD_AT = 3
"""Kept centers at which workers wait at the gate: one is being evaluated, the others wait for it."""
MOST_KEPT = 8
"""Reached only where workers never ask the gate; then the next evaluation is left out."""


class KeptCenter(NamedTuple):
    """This shard's slice of the center as it was."""

    version: int
    samples: int
    payload: Payload
    is_last: bool = False
    """All workers have left."""


class EvaluationQueue:
    def __init__(self, every: int) -> None:
        """`every`: samples. The first evaluation is due before any update."""
        self._every, self._next = every, 0
        self._kept: deque[KeptCenter] = deque()
        self._given_to = -1
        """The incarnation of the evaluator that has the first one."""
        self._finished = False

    @property
    def hold_workers(self) -> bool:
        """The evaluator is so far behind that workers must not begin another round."""
        return len(self._kept) >= HOLD_AT and not self._finished

    def keep_if_due(self, center: Center) -> None:
        if center.samples < self._next or self._finished:
            return
        self._next = (center.samples // self._every + 1) * self._every
        if len(self._kept) < MOST_KEPT:
            self._keep(center)

    def finish(self, center: Center) -> None:
        """All workers have left: keep the last center, once."""
        if not self._finished:
            self._finished = True
            self._keep(center, is_last=True)

    @property
    def has_one(self) -> bool:
        return bool(self._kept)

    def give_to(self, incarnation: int) -> KeptCenter:
        """The oldest one. It stays until this evaluator asks for the next: whoever replaces it begins there."""
        self._given_to = incarnation
        return self._kept[0]

    def is_done_with(self, incarnation: int) -> None:
        """The evaluator asks again, so it has reported what it was given."""
        if self._given_to == incarnation:
            self._given_to = -1
            self._kept.popleft()

    def lose(self, incarnation: int) -> None:
        """The evaluator is gone; what it was given is given again."""
        if self._given_to == incarnation:
            self._given_to = -1

    def _keep(self, center: Center, is_last: bool = False) -> None:
        center.finish()
        given = center.read_for_evaluation()
        buffers = given.buffers and Buffers(given.buffers.floats.clone(), given.buffers.ints.clone())
        self._kept.append(KeptCenter(center.version, center.samples, Payload(given.x.clone(), buffers), is_last))

    def state(self) -> dict[str, Any]:
        """Kept centers never change, so they are not copied."""
        kept = [(one.version, one.samples, one.payload.x, one.payload.buffers) for one in self._kept if not one.is_last]
        return {"next": self._next, "kept": [(*one, buffers and tuple(buffers)) for *one, buffers in kept]}

    def load(self, state: dict[str, Any] | None, device: torch.device) -> None:
        """None: the checkpoint is of a job that evaluated by time, so one is due at once."""
        if state is None:
            return
        self._next = state["next"]
        for version, samples, x, buffers in state["kept"]:
            payload = Payload(x.to(device, copy=True), Buffers(*buffers) if buffers else None)
            self._kept.append(KeptCenter(version, samples, payload))

"""Evaluations by samples: the log decides which centers are evaluated, and not the evaluator's clock.

A shard keeps a copy of its slice when the center has reached a multiple of `evaluate.every`; evaluators get these copies one after
the other. All shards read the same log, so they keep the same versions, and under bsp the same bits on every machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from gradstream.center.entries import Buffers, Payload
from gradstream.center.parameters.center import Center
from gradstream.center.tables.half import decode_rows
from gradstream.center.tables.payload import LOAN, FoundRows, RowKeys, of_kind
from gradstream.own_pages import own_copy
from gradstream.spec.cadence import HOLD_AT, MAX_KEPT


class KeptCenter(NamedTuple):
    """This shard's slice of the center at an earlier version."""

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
        """The incarnation of the evaluator that has the oldest kept center; -1: none."""
        self._finished = False

    @property
    def hold_workers(self) -> bool:
        """True if the evaluator is so far behind that workers must not begin another round."""
        return len(self._kept) >= HOLD_AT and not self._finished

    def keep_if_due(self, center: Center, keys: Mapping[str, RowKeys]) -> None:
        if center.samples < self._next or self._finished:
            return
        self._next = (center.samples // self._every + 1) * self._every
        if len(self._kept) < MAX_KEPT:
            self._keep(center, keys)

    def finish(self, center: Center, keys: Mapping[str, RowKeys]) -> None:
        """Keep the last center, once, when all workers have left."""
        if not self._finished:
            self._finished = True
            self._keep(center, keys, is_last=True)

    @property
    def has_one(self) -> bool:
        return bool(self._kept)

    def give_to(self, incarnation: int) -> KeptCenter:
        """Return the oldest kept center. It stays until this evaluator asks for the next, so that its successor can begin there."""
        self._given_to = incarnation
        return self._kept[0]

    def is_done_with(self, incarnation: int) -> None:
        """Drop the center that the evaluator was given: it asks for the next, so it has reported this one."""
        if self._given_to == incarnation:
            self._given_to = -1
            self._kept.popleft()

    def lose(self, incarnation: int) -> None:
        """Note that the evaluator is gone: the next one gets the same center."""
        if self._given_to == incarnation:
            self._given_to = -1

    def _keep(self, center: Center, keys: Mapping[str, RowKeys], is_last: bool = False) -> None:
        center.finish()
        given = center.read_for_evaluation(keys)
        buffers = given.buffers and Buffers(given.buffers.floats.clone(), given.buffers.ints.clone())
        self._kept.append(KeptCenter(center.version, center.samples, Payload(own_copy(given.x), buffers, given.rows), is_last))

    def state(self) -> dict[str, Any]:
        """Return the state without copies, since kept centers never change."""
        return {"next": self._next, "kept": [_state_of(one) for one in self._kept if not one.is_last]}

    def load(self, state: dict[str, Any] | None, device: torch.device) -> None:
        """Restore the result of `state`. None: the checkpointed job evaluated by time, so an evaluation is due at once."""
        if state is None:
            return
        self._next = state["next"]
        for version, samples, x, buffers, *rows in state["kept"]:
            found = {name: _rows_of(*of_table) for name, of_table in rows[0].items()} if rows else None
            payload = Payload(x.to(device, copy=True), Buffers(*buffers) if buffers else None, found)
            self._kept.append(KeptCenter(version, samples, payload))


def _state_of(kept: KeptCenter) -> tuple[Any, ...]:
    x, buffers, rows, *_ = kept.payload
    state = (kept.version, kept.samples, x, buffers and tuple(buffers))
    found = {
        name: (torch.tensor(one.keys), torch.tensor(decode_rows(one.values))) for name, one in of_kind(FoundRows, rows).items()
    }
    return (*state, found) if found else state


def _rows_of(keys: torch.Tensor, values: torch.Tensor) -> FoundRows:
    """Return rows as an evaluator reads them, without loans, since it pushes nothing."""
    return FoundRows(keys.numpy(), values.numpy(), np.zeros(len(keys), LOAN))

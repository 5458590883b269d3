"""The mini-batches that one worker has trained: its place in the data, and the time that computing took."""

from __future__ import annotations

import time
from collections.abc import Callable

from gradstream.center.entries import Response
from gradstream.center.positions import Position, place_at, position_at, taken_at
from gradstream.training.granted import GrantedBatches
from gradstream.training.problem import Dealt, Follows, HasPlace, Problem


class BatchCount:
    """Plain numbers, no tensor. The replica adds each mini-batch, the link posts each push, and the loop asks for `has_work`."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._follows = problem, problem if isinstance(problem, Follows) else None
        self._placed = problem if isinstance(problem, HasPlace) else None
        self.planned = problem.planned if isinstance(problem, Dealt) else 0
        """Mini-batches of the job that the servers deal on demand; 0: this worker has a fixed share."""
        self._granted = GrantedBatches() if self.planned else None
        if self._granted and isinstance(problem, Dealt):
            problem.take_from(self._granted)
        self.t = 0
        """Mini-batches taken so far, over all incarnations of this rank."""
        self.steps = 0
        """Mini-batches since the last push."""
        self.compute_seconds = 0.0
        """Seconds of computing since the last push; the worker's report sets them to zero."""

    @property
    def position(self) -> Position:
        """Mini-batches taken so far, with the place of the data if it has one: a push says this."""
        return position_at(self.t, self._placed.place() if self._placed else ())

    def go_to(self, position: Position) -> None:
        """Continue where an earlier incarnation had got to."""
        self.t = taken_at(position)
        if self._placed:
            self._placed.go_to(self.t, place_at(position))

    @property
    def number(self) -> int:
        """The number of the next mini-batch: in this rank's share, or in the whole data if mini-batches are dealt."""
        return self._granted.number if self._granted is not None else self.t

    @property
    def done(self) -> bool:
        """No mini-batch is left of this rank's share, or of those that it was dealt so far."""
        return not self._granted if self._granted is not None else self.t >= self._problem.total

    @property
    def awaits_grant(self) -> bool:
        """The worker holds no mini-batch, and a response is to come that may bring some."""
        return self._granted is not None and not self._granted and self._granted.awaits_grant

    @property
    def must_wait(self) -> bool:
        """The next mini-batch is not there yet. See `Follows`."""
        return self._follows is not None and not self.done and not self._follows.has_data(self.t)

    @property
    def ends_window(self) -> bool:
        """The next mini-batch is not there yet, or belongs to another pass of data that grows."""
        return self.must_wait or (self._follows is not None and self._follows.begins_pass(self.t))

    @property
    def has_work(self) -> bool:
        """True if mini-batches are left to train, or may be, or if trained ones are left to push."""
        return not self.done or self.steps > 0 or self.awaits_grant

    @property
    def left(self) -> int:
        return len(self._granted) if self._granted is not None else max(0, self._problem.total - self.t)

    @property
    def epoch(self) -> int:
        """Mini-batches in one pass over this worker's share of the data."""
        return self._problem.per_epoch

    def add_batch(self) -> None:
        self.t += 1
        self.steps += 1
        if self._granted is not None:
            self._granted.take()

    def post(self, seq: int) -> int:
        """Count the mini-batches since the last push as those of push `seq`, and return their number."""
        steps, self.steps = self.steps, 0
        if self._granted is not None:
            self._granted.expect(seq)
        return steps

    def receive_grant(self, response: Response) -> None:
        """Take the mini-batches that a response brings."""
        if self._granted is not None:
            self._granted.receive(response)

    def load(self, taken: int, steps: int) -> None:
        """Continue from a checkpoint: so many were taken, and so many of them are not pushed."""
        self.t, self.steps = taken, steps
        if self._granted is not None:
            self._granted.skip = steps

    def untimed(self, wait: Callable[[], None]) -> Callable[[], None]:
        """Return `wait` for use in the midst of a gradient: its seconds are left out of `compute_seconds`."""

        def wait_untimed() -> None:
            began = time.perf_counter()
            wait()
            self.compute_seconds -= time.perf_counter() - began

        return wait_untimed
